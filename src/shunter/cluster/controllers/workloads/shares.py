"""Numbers that are given as such or as a share, `3` or `25%`."""

from __future__ import annotations

from shunter.api.formats.digits import whole_number


def share(value: int | str, total: int, *, up: bool) -> int:
    """A number as it is, or a percentage of `total`, rounded up or down. 0 for any other text, which the API server refuses."""
    if isinstance(value, int):
        return value
    percent = whole_number(value.removesuffix("%")) if value.endswith("%") else None
    hundredths = (percent or 0) * total
    return -(-hundredths // 100) if up else hundredths // 100
