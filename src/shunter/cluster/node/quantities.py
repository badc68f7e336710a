"""Resource quantities as Kubernetes writes them: `500m`, `8Gi`, `1e3`. Pure."""

from __future__ import annotations

import math
import re
from fractions import Fraction

_SUFFIXES = {
    "n": Fraction(1, 10**9), "u": Fraction(1, 10**6), "m": Fraction(1, 1000), "": Fraction(1),
    "k": Fraction(10**3), "M": Fraction(10**6), "G": Fraction(10**9), "T": Fraction(10**12), "P": Fraction(10**15),
    "E": Fraction(10**18), "Ki": Fraction(2**10), "Mi": Fraction(2**20), "Gi": Fraction(2**30), "Ti": Fraction(2**40),
    "Pi": Fraction(2**50), "Ei": Fraction(2**60),
}  # fmt: skip
_QUANTITY = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)([numkMGTPE]|[KMGTPE]i|)")


def quantity(text: str | int | float) -> Fraction:
    """The exact value, in the resource's own unit (cores, bytes, devices). Raises ValueError for anything else."""
    match = _QUANTITY.fullmatch(str(text))
    if match is None:
        raise ValueError(f"{text!r} is not a resource quantity")
    return Fraction(match[1]) * _SUFFIXES[match[2]]


def in_units_of(value: Fraction, divisor: Fraction) -> str:
    """How the downward API writes a quantity: whole multiples of the divisor, rounded up."""
    return str(math.ceil(value / divisor))


def binary_bytes(count: int) -> str:
    """A size for people: the largest binary unit that keeps a whole number of at least 1, rounded down (`23Gi`)."""
    for suffix in ("Ti", "Gi", "Mi", "Ki"):
        size = int(_SUFFIXES[suffix])
        if count >= size:
            return f"{count // size}{suffix}"
    return str(count)
