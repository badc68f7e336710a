"""Numbers that users write in digits: Python refuses to read thousands of them with a ValueError. Pure."""

from __future__ import annotations

LARGEST = 2**63 - 1
"""What Go's Atoi reads at most."""


def whole_number(text: str) -> int | None:
    """The number that decimal digits write, as Go reads them; None for any other text, and for more than `LARGEST`."""
    return _at_most(LARGEST, text)


def integer(text: str) -> int | None:
    """The number of 64 bits that digits with or without a sign write, as Go's ParseInt and Atoi read them; None for any other
    text."""
    if text.startswith("-"):
        found = _at_most(LARGEST + 1, text[1:])
        return None if found is None else -found
    return whole_number(text.removeprefix("+"))


def _at_most(most: int, text: str) -> int | None:
    digits = text.lstrip("0")
    if not text.isascii() or not text.isdecimal() or len(digits) > len(str(most)):
        return None
    number = int(digits or "0")
    return number if number <= most else None


def port_number(text: str) -> int | None:
    """The port that decimal digits write, 1 to 65535; None for any other text."""
    number = whole_number(text)
    return number if number is not None and 1 <= number <= 65535 else None
