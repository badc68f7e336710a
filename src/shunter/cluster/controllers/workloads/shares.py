"""Numbers that are given as such or as a share, `3` or `25%`."""

from __future__ import annotations


def share(value: int | str, total: int, *, up: bool) -> int:
    """So many of `total`, a share rounded up or down. What is neither a number nor a percentage is none: the API server lets
    nothing else through."""
    if isinstance(value, int):
        return value
    digits = value.removesuffix("%")
    if digits == value or not digits.isdecimal():
        return 0
    hundredths = int(digits) * total
    return -(-hundredths // 100) if up else hundredths // 100
