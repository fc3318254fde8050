"""Ways to damage a file, how many damaged files the tests read, and the tests that do."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

# Of each way in the suite, and with `-m soak`. `tests/faults/test_fuzz_total.py` adds them up.
SUITE_CASES, SOAK_CASES = 180, 4000

# The fixtures of a test make what all its cases share.
cases = partial(
    settings,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)

Draw = Callable[[Any], Any]
Mutation = Callable[[bytes, Draw], bytes]
Damage = Callable[[Draw], None]

odd_numbers = st.sampled_from([-1, 0, 1, 3, 2**31, 2**62, 2**63, 2**64, 10**400, 0.5, 1e308])
odd_texts = st.sampled_from(["", "F16", "I8", "BF16", "../x", "\0", "\n", "\ud800", "x" * 99])
odd_values = st.recursive(
    odd_numbers | odd_texts | st.sampled_from([None, True, False]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(odd_texts, inner, max_size=2),
    max_leaves=4,
)
# Where (as a fraction of the length), how many bytes go, and what comes in their place.
byte_edits = st.lists(
    st.tuples(st.floats(0, 1), st.integers(0, 9), st.binary(max_size=9)), min_size=1, max_size=3
)


def edit_bytes(raw: bytes, edits: list[tuple[float, int, bytes]]) -> bytes:
    for place, removed, added in edits:
        at = int(place * len(raw))
        raw = raw[:at] + added + raw[at + removed :]
    return raw


def edit_json(value: Any, choose: Callable[[Any], Any]) -> Any:
    """Replace one value somewhere in a JSON tree, drop it, or rename its key."""
    if not isinstance(value, dict | list) or not value or choose(st.integers(0, 4)) == 0:
        return choose(odd_values)
    if isinstance(value, list):
        i = choose(st.integers(0, len(value) - 1))
        return [*value[:i], edit_json(value[i], choose), *value[i + 1 :]]
    key = choose(st.sampled_from(sorted(value)))
    rest = {k: v for k, v in value.items() if k != key}
    if choose(st.integers(0, 4)) == 0:
        return rest
    return {**rest, key: edit_json(value[key], choose)}


def any_bytes(raw: bytes, draw: Draw) -> bytes:
    """Some bytes changed, added or cut out."""
    return edit_bytes(raw, draw(byte_edits))


def any_value(raw: bytes, draw: Draw) -> bytes:
    """A JSON file with something in it replaced or dropped."""
    return json.dumps(edit_json(json.loads(raw), draw)).encode()


# Tests ------------------------------------------------------------------------------------------


def fuzz_tests(mutations: Mapping[str, object]) -> tuple[Callable[..., None], Callable[..., None]]:
    """A module's two tests, of `SUITE_CASES` and of `SOAK_CASES` damaged files in each way.

    The module has a fixture `damage`, a `Damage` that asks for `mutation`, a value of `mutations`.
    """

    def make(examples: int) -> Callable[..., None]:
        @pytest.mark.parametrize("mutation", mutations.values(), ids=mutations)
        @cases(max_examples=examples)
        @given(data=st.data())
        def test(damage: Damage, data: st.DataObject) -> None:
            damage(data.draw)

        return test

    return make(SUITE_CASES), pytest.mark.soak(make(SOAK_CASES))


def works_or_says_why(read: Callable[[], object], error: type[Exception], where: str) -> None:
    """Reading ends in a result, or in one printable line that names the place."""
    try:
        read()
    except error as problem:
        message = str(problem)
        assert message.isprintable()
        assert where in message
        assert len(message) < 1200
