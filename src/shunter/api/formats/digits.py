"""Numbers that users write in digits: Python refuses to read thousands of them with a ValueError. Pure."""

from __future__ import annotations

MOST_DIGITS = 19
"""What 64 bits hold."""


def whole_number(text: str) -> int | None:
    """The number that decimal digits write, as Go reads them; None for any other text, and for more than `MOST_DIGITS`."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= MOST_DIGITS else None


def port_number(text: str) -> int | None:
    """The port that decimal digits write, 1 to 65535; None for any other text."""
    number = whole_number(text)
    return number if number is not None and 1 <= number <= 65535 else None
