"""Text that decodes base64."""

from __future__ import annotations

import pytest

from shunter.migrate.conversion.commands.encoded import decodes


def test_a_line_that_says_base64_a_hundred_thousand_times_is_searched_in_seconds() -> None:
    """Work that grows with the square would take this test minutes."""
    assert not decodes("base64 x " * 100_000)
    assert decodes("base64 x " * 100_000 + "-d")


@pytest.mark.parametrize(
    "text", ["base64 -d", "base64 -w 0 --decode", "base64 base64.txt -id", "base64 <<< " + "A" * 9000 + " -d"]
)
def test_text_that_decodes_base64(text: str) -> None:
    assert decodes(text)
