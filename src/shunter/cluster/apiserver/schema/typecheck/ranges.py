"""Estimates: the least and the most of a cost or of a size. What is more than 64 bits hold is the most that there is."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

_MOST: Final = 2**64 - 1
TRAVERSAL: Final = 0.1
"""Units a letter."""


class Range(NamedTuple):
    """From `least` to `most`."""

    least: int
    most: int

    def __add__(self, other: object) -> Range:
        assert isinstance(other, Range)
        return Range(min(self.least + other.least, _MOST), min(self.most + other.most, _MOST))

    def __mul__(self, other: object) -> Range:
        assert isinstance(other, Range)
        return Range(min(self.least * other.least, _MOST), min(self.most * other.most, _MOST))

    def by(self, factor: float) -> Range:
        """Both ends times a factor, rounded up."""
        return Range(_times(self.least, factor), _times(self.most, factor))

    def union(self, other: Range) -> Range:
        """What takes in both."""
        return Range(min(self.least, other.least), max(self.most, other.most))


def fixed(value: int) -> Range:
    """Exactly a value."""
    return Range(value, value)


NOTHING: Final = fixed(0)
ONE: Final = fixed(1)
UNKNOWN: Final = Range(0, _MOST)


def _times(value: int, factor: float) -> int:
    product = float(value) * factor
    return _MOST if product >= 2.0**64 else math.ceil(product)
