"""Resource quantities: `500m`, `1.5`, `8Gi`, `1e3`. Exact values, and the form in which Kubernetes writes them back.

Source: k8s.io/apimachinery 1.36 `api/resource`.
"""

from __future__ import annotations

import functools
import re
from fractions import Fraction
from typing import Any, Final

FORMAT_FAULT: Final = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
"""What the API server answers to a text that is no quantity."""
_SUFFIX_FAULT = "unable to parse quantity's suffix"

_SHAPE = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)", re.ASCII)
_EXPONENT = re.compile(r"[eE]([-+]?0*[0-9]{1,3})", re.ASCII)
"""Of at most three digits: Kubernetes keeps amount and power apart, here `1e999999999` would be a number of as many digits."""
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}
_DECIMAL_SUFFIX = {power: suffix for suffix, power in _DECIMAL.items()}
_BINARY_SUFFIX = {0: ""} | {power: suffix for suffix, power in _BINARY.items()}
_NANO = 10**9


def parse(quantity: Any) -> Fraction:
    """The exact value of a quantity as it stands in JSON (a string or a number), rounded away from zero to billionths.
    Raises ValueError in Kubernetes' words, also for powers of ten beyond 999."""
    return _parsed(str(quantity))[0]


def canonical(quantity: Any) -> str:
    """The quantity as the API server writes it: `1000m` is `1`, `1024Mi` is `1Gi`. Raises as `parse` does."""
    return _canonical(str(quantity))


def canonical_resource(quantity: Any) -> str:
    """The canonical form inside a list of resources, where amounts below a thousandth are rounded up to one."""
    return _canonical_resource(str(quantity))


def is_binary(quantity: Any) -> bool:
    """Whether it is written in binary units, `8Gi`: a sum keeps the form of what was added first. Raises as `parse`."""
    return _parsed(str(quantity))[1] == "binary"


def format_binary(count: int) -> str:
    """A whole number in the largest binary unit that keeps it exact: 8589934592 is `8Gi`."""
    power = 0
    while count and count % 1024 == 0 and power < 6:
        count //= 1024
        power += 1
    return f"{count}{_BINARY_SUFFIX[power]}"


def format_milli(value: Fraction, *, binary: bool) -> str:
    """An amount rounded up to thousandths, in canonical form; whole amounts in binary units if so wanted."""
    thousandths = -(-value.numerator * 1000 // value.denominator)
    if binary and thousandths % 1000 == 0:
        return format_binary(thousandths // 1000)
    return canonical(f"{thousandths}m")


@functools.lru_cache(maxsize=4096)
def _canonical_resource(text: str) -> str:
    thousandths = parse(text) * 1000
    return canonical(text) if thousandths.denominator == 1 else f"{-(-thousandths.numerator // thousandths.denominator)}m"


@functools.lru_cache(maxsize=4096)
def _canonical(text: str) -> str:
    value, style, kept = _parsed(text)
    if kept:
        return text.strip()
    if style == "binary" and abs(value) >= 1024:
        whole = -(-value.numerator // value.denominator) if value > 0 else value.numerator // value.denominator
        return format_binary(whole) if whole > 0 else f"-{format_binary(-whole)}"
    count = int(value * _NANO)
    if count == 0:
        return "0"
    power = -9
    while count % 1000 == 0 and power < 18:
        count //= 1000
        power += 3
    if style == "exponent":
        return f"{count}e{power}" if power else str(count)
    return f"{count}{_DECIMAL_SUFFIX[power]}"


@functools.lru_cache(maxsize=4096)
def _parsed(text: str) -> tuple[Fraction, str, bool]:
    """Value, style (`decimal`, `exponent`, `binary`), and whether Kubernetes takes the text as canonical and keeps it."""
    text = text.strip()
    found = _SHAPE.fullmatch(text)
    if found is None or not (found[2] or found[3]):
        raise ValueError(FORMAT_FAULT)
    sign, whole, fraction, suffix = found[1], found[2], found[3] or "", found[4]
    digits = int(whole + fraction or "0")
    if suffix in _BINARY:
        style, exact = "binary", Fraction(digits * 1024 ** _BINARY[suffix], 10 ** len(fraction))
        kept = not fraction and digits % 8 != 0
    else:
        exponent = _EXPONENT.fullmatch(suffix)
        if exponent is None and suffix not in _DECIMAL:
            raise ValueError(_SUFFIX_FAULT)
        power = int(exponent[1]) if exponent else _DECIMAL[suffix]
        style, scale = "exponent" if exponent else "decimal", power - len(fraction)
        exact = Fraction(digits) * Fraction(10) ** scale
        shown = (whole.lstrip("0") or "0") + fraction
        kept = scale >= -9 and scale % 3 == 0 and not shown.endswith("000") and not shown.startswith("0") and len(shown) < 18
    billionths = exact * _NANO
    value = Fraction(-(-billionths.numerator // billionths.denominator), _NANO)
    return (-value if sign == "-" else value), style, kept
