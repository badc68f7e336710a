"""Durations as Go writes them: `15s`, `1m30s`, `1.5h`."""

from __future__ import annotations

import math
import re
from decimal import Decimal

from shunter.errors import InputError

_PART = re.compile("([0-9]+(?:\\.[0-9]*)?|\\.[0-9]+)(h|ms|us|µs|μs|ns|m|s)")
_NANOSECONDS = {"h": 3600 * 10**9, "m": 60 * 10**9, "s": 10**9, "ms": 10**6, "us": 1000, "µs": 1000, "μs": 1000, "ns": 1}
_MOST = 2**63


def seconds(text: str) -> float:
    """How long a duration without a sign is. InputError for what is none."""
    return float(sum(number * _NANOSECONDS[unit] for number, unit in _parts(text))) / 10**9


def _parts(text: str) -> list[tuple[Decimal, str]]:
    """The numbers of a duration without a sign, with their units."""
    parts = _PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise _none(text)
    return [(Decimal(number), unit) for number, unit in parts]


def _none(text: str) -> InputError:
    return InputError(f"{text!r} is not a duration.", "Write it like 15s or 1m30s.")


def nanoseconds(text: str) -> int:
    """The same, exactly, for all that Go's `time.ParseDuration` reads: with a sign, too, `0` without a unit, and no more than 64
    bits of nanoseconds, some 292 years."""
    unsigned = text[1:] if text.startswith(("+", "-")) else text
    length = sum(int(number * _NANOSECONDS[unit]) for number, unit in _parts(unsigned)) if unsigned != "0" else 0
    length = -length if text.startswith("-") else length
    if not -_MOST <= length < _MOST:
        raise _none(text)
    return length


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
