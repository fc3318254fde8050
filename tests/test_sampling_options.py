"""`Sampling`: ranges, messages, and what controls are built from."""

from __future__ import annotations

import dataclasses
import pickle

import numpy as np
import pytest

from gpt2gl.errors import OptionError
from gpt2gl.sampling import SAMPLERS, SAMPLING_OPTIONS, Number, Sampling

ORDER = [
    *("logit_bias", "repetition_penalty", "presence_penalty", "frequency_penalty"),
    *("no_repeat_ngram", "banned", "min_new_tokens"),
    *("temperature", "top_k", "top_p", "min_p", "typical_p"),
]

ALLOWED = {
    "temperature": ([0, 0.7, 100], [-0.1, 100.1], "a number from 0 to 100"),
    "top_k": ([0, 40, 10**12], [-1, 4.0], "a whole number of 0 or more"),
    "top_p": ([0, 0.5, 1], [-0.01, 1.01], "a number from 0 to 1"),
    "min_p": ([0, 0.5, 1], [-0.01, 1.01], "a number from 0 to 1"),
    "typical_p": ([0.01, 1], [0, -1, 1.01], "a number above 0, at most 1"),
    "repetition_penalty": ([0.01, 1.2, 100], [0, -1, 101], "a number from 0.01 to 100"),
    "presence_penalty": ([-2, 0.5, 2], [-2.1, 2.1], "a number from -2 to 2"),
    "frequency_penalty": ([-2, 0.5, 2], [-2.1, 2.1], "a number from -2 to 2"),
    "no_repeat_ngram": ([0, 3], [-1, 2.5], "a whole number of 0 or more"),
    "min_new_tokens": ([0, 3], [-1, 2.5], "a whole number of 0 or more"),
    "seed": (
        [None, 0, 2**63 - 1],
        [-1, 2**63, 1.0],
        "a whole number from 0 to 9223372036854775807, or none",
    ),
    "logit_bias": (
        [{}, {5: -100}, {0: 1.5}],
        [[(1, 2)], None],
        "token ids, each with a number from -100 to 100",
    ),
    "banned": ([(), [[1]], ((1, 2), (3,))], [5, "ab", None], "sequences of one or more token ids"),
}
NEVER_NUMBERS = [float("nan"), float("inf"), -float("inf"), "1", "a\nb", True, [1], 1j, 10**400]

good = [(name, value) for name, (values, _, _) in ALLOWED.items() for value in values]
bad = [(name, value) for name, (_, values, _) in ALLOWED.items() for value in values]
never = [
    (name, value)
    for name, option in SAMPLING_OPTIONS.items()
    if isinstance(option, Number)
    for value in NEVER_NUMBERS
    if not (value == 10**400 and option.maximum is None)
]


def test_steps_are_in_the_documented_order_and_named_as_their_field():
    assert list(SAMPLERS) == ORDER
    assert SAMPLERS.keys() | {"seed"} == SAMPLING_OPTIONS.keys()
    assert all(step.__name__ == name for name, step in SAMPLERS.items())


def test_defaults_leave_the_distribution_alone():
    assert dataclasses.asdict(Sampling()) == {
        "temperature": 1.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0, "typical_p": 1.0,
        "repetition_penalty": 1.0, "presence_penalty": 0.0, "frequency_penalty": 0.0,
        "no_repeat_ngram": 0, "logit_bias": {}, "banned": (), "min_new_tokens": 0, "seed": None,
    }  # fmt: skip


@pytest.mark.parametrize(("name", "option"), SAMPLING_OPTIONS.items())
def test_metadata_suffices_for_a_control(name, option):
    assert option.cli == "--" + name.replace("_", "-")
    assert option.help.endswith(".")
    assert "\n" not in option.help
    assert option.allowed == ALLOWED[name][2]


def test_sliders_stay_inside_the_range():
    numbers = [option for option in SAMPLING_OPTIONS.values() if isinstance(option, Number)]
    ends = [(option, end) for option in numbers if option.slider for end in option.slider]
    assert len(ends) == 2 * (len(numbers) - 1)  # a seed has no slider
    assert all(option.check(end) == end for option, end in ends)


@pytest.mark.parametrize(("name", "value"), good)
def test_allowed_values_are_taken(name, value):
    stored = getattr(Sampling(**{name: value}), name)
    if name != "banned":
        assert stored == value


@pytest.mark.parametrize(("name", "value"), bad + never)
def test_other_values_are_refused_in_one_line(name, value):
    with pytest.raises(OptionError) as caught:
        Sampling(**{name: value})
    message = str(caught.value)
    option = SAMPLING_OPTIONS[name]
    assert message.startswith(f"{option.cli} is ")
    assert message.endswith(f"; allowed: {option.allowed}")
    assert "\n" not in message
    assert len(message) < 160


def test_the_message_names_option_value_and_range():
    with pytest.raises(OptionError) as caught:
        Sampling(top_p=1.5)
    assert str(caught.value) == "--top-p is 1.5; allowed: a number from 0 to 1"


@pytest.mark.parametrize(
    ("bias", "message"),
    [
        ({-1: 1.0}, "--logit-bias names -1, which is not a token id"),
        ({"7": 1.0}, "--logit-bias names '7', which is not a token id"),
        ({True: 1.0}, "--logit-bias names True, which is not a token id"),
        *(
            (
                {7: value},
                f"--logit-bias gives token 7 a bias of {value!r}; "
                "allowed: a number from -100 to 100",
            )
            for value in (float("nan"), float("inf"), -float("inf"), 100.5, "x", False)
        ),
    ],
)
def test_each_bias_is_checked(bias, message):
    with pytest.raises(OptionError) as caught:
        Sampling(logit_bias=bias)
    assert str(caught.value) == message


@pytest.mark.parametrize("entry", [(), (1, -2), (1.0,), (True,), "ab", 3])
def test_each_banned_sequence_is_checked(entry):
    with pytest.raises(OptionError, match=r"^--banned is .*; allowed: sequences of one or more"):
        Sampling(banned=((1, 2), entry))


def test_values_are_stored_as_plain_python():
    options = Sampling(
        temperature=1,
        top_p=np.float32(0.5),
        top_k=np.int64(4),
        logit_bias={np.int64(3): np.float32(0.5)},
        banned=[[np.int64(1), 2]],
    )
    assert type(options.temperature) is float
    assert type(options.top_p) is float
    assert type(options.top_k) is int
    assert [(type(k), type(v)) for k, v in options.logit_bias.items()] == [(int, float)]
    assert options.banned == ((1, 2),)
    assert type(options.banned[0][0]) is int


def test_later_changes_to_an_argument_have_no_effect():
    bias = {1: 1.0}
    options = Sampling(logit_bias=bias)
    bias[2] = 5.0
    assert options.logit_bias == {1: 1.0}


def test_options_compare_hash_copy_and_pickle():
    options = Sampling(logit_bias={1: 1.0}, banned=((1,),), seed=3)
    assert options == pickle.loads(pickle.dumps(options)) == Sampling(**dataclasses.asdict(options))
    assert hash(options) == hash(Sampling(logit_bias={1: 1.0}, banned=((1,),), seed=3))
    assert dataclasses.replace(options, top_k=4) != options
    with pytest.raises(OptionError):
        dataclasses.replace(options, top_k=-4)
    with pytest.raises(dataclasses.FrozenInstanceError):
        options.top_k = 4
