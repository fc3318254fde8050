"""How many hostile inputs the default suite reads."""

from __future__ import annotations

from tests import test_tokenizer_fuzz, test_weights_fuzz
from tests.faults import test_fuzz_chats, test_fuzz_files
from tests.faults import test_fuzz_command_line as command_line
from tests.mutations import SUITE_CASES


def test_at_least_five_thousand() -> None:
    modules = (test_weights_fuzz, test_tokenizer_fuzz, test_fuzz_files, test_fuzz_chats)
    files = SUITE_CASES * sum(len(module.MUTATIONS) for module in modules)
    assert files + command_line.ARGUMENT_CASES + command_line.INPUT_CASES >= 5000
