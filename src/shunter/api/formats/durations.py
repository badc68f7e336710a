"""Durations as Go writes them: `15s`, `1m30s`, `1.5h`."""

from __future__ import annotations

import math
import re

from shunter.errors import InputError

_PART = re.compile("([0-9]+(?:\\.[0-9]*)?|\\.[0-9]+)(h|ms|us|µs|μs|ns|m|s)")
_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ns": 1e-9}


def seconds(text: str) -> float:
    """How long a duration without a sign is. InputError for what is none."""
    parts = _PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise InputError(f"{text!r} is not a duration.", "Write it like 15s or 1m30s.")
    return sum(float(number) * _UNITS[unit] for number, unit in parts)


def signed_seconds(text: str) -> float:
    """The same for all that Go's `time.ParseDuration` reads: with a sign, too, and `0` without a unit."""
    unsigned = text[1:] if text.startswith(("+", "-")) else text
    length = 0.0 if unsigned == "0" else seconds(unsigned)
    return -length if text.startswith("-") else length


def option_seconds(option: str, text: str) -> int | None:
    """Whole seconds, rounded up, of the value of an option, such as 90s, 10m or 1h30m; None for an empty one. InputError, with
    the option's name, for what is no positive duration."""
    if not text:
        return None
    try:
        length = seconds(text)
    except InputError as error:
        raise InputError(f"{option}: {error.message}", error.remedy) from error
    if length <= 0:
        raise InputError(f"{option}: {text!r} is not a positive duration.", "Write it like 90s or 10m.")
    return math.ceil(length)
