"""Durations as Go writes them: `15s`, `1m30s`, `1.5h`."""

from __future__ import annotations

import re

from shunter.errors import InputError

_PART = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(h|ms|us|ns|m|s)")
_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}


def seconds(text: str) -> float:
    """How long a duration is. InputError for what is none."""
    parts = _PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise InputError(f"{text!r} is not a duration.", "Write it like 15s or 1m30s.")
    return sum(float(number) * _UNITS[unit] for number, unit in parts)
