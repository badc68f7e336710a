"""Numbers that users write in digits: Python refuses to read thousands of them with a ValueError. Pure."""

from __future__ import annotations

LARGEST = 2**63 - 1
"""What Go's Atoi reads at most."""


def whole_number(text: str) -> int | None:
    """The number that decimal digits write, as Go reads them; None for any other text, and for more than `LARGEST`."""
    digits = text.lstrip("0")
    if not text.isascii() or not text.isdecimal() or len(digits) > len(str(LARGEST)):
        return None
    number = int(digits or "0")
    return number if number <= LARGEST else None


def port_number(text: str) -> int | None:
    """The port that decimal digits write, 1 to 65535; None for any other text."""
    number = whole_number(text)
    return number if number is not None and 1 <= number <= 65535 else None
