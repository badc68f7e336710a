"""Sets of completion indexes as a Job's status writes them: `0-4,7,9,10`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from shunter.api.formats.digits import whole_number


@dataclass(frozen=True, slots=True)
class Indexes:
    """A set of indexes as ordered, disjoint, non-adjacent intervals (first and last included).

    Jobs may have 100,000 completions, so sets are never expanded unless they are small.
    """

    intervals: tuple[tuple[int, int], ...] = ()

    @classmethod
    def parse(cls, text: str, completions: int) -> Indexes:
        """Reads `text`, ignoring malformed parts and everything from `completions` on (a Job may have been scaled down)."""
        intervals = []
        for part in text.split(","):
            first_text, _, last_text = part.partition("-")
            first, last = whole_number(first_text), whole_number(last_text or first_text)
            if first is not None and last is not None and first <= (last := min(last, completions - 1)):
                intervals.append((first, last))
        return cls(_merged(intervals))

    @classmethod
    def of(cls, indexes: Iterable[int]) -> Indexes:
        """The set of these indexes, which may come in any order and more than once."""
        return cls(_merged([(index, index) for index in indexes]))

    def __or__(self, other: Indexes) -> Indexes:
        return Indexes(_merged([*self.intervals, *other.intervals]))

    def __contains__(self, index: int) -> bool:
        return any(first <= index <= last for first, last in self.intervals)

    def __bool__(self) -> bool:
        return bool(self.intervals)

    @property
    def total(self) -> int:
        """How many indexes are in the set."""
        return sum(last - first + 1 for first, last in self.intervals)

    def overlap(self, other: Indexes) -> int:
        """How many indexes are in both sets."""
        return sum(
            max(0, min(last, other_last) - max(first, other_first) + 1)
            for first, last in self.intervals
            for other_first, other_last in other.intervals
        )

    def gaps(self, completions: int) -> Iterator[int]:
        """The indexes below `completions` that are not in the set, in order."""
        candidate = 0
        for first, last in self.intervals:
            yield from range(candidate, min(first, completions))
            candidate = last + 1
        yield from range(candidate, completions)

    def __str__(self) -> str:
        return ",".join(_written(first, last) for first, last in self.intervals)


def _written(first: int, last: int) -> str:
    if first == last:
        return str(first)
    return f"{first},{last}" if last == first + 1 else f"{first}-{last}"


def _merged(intervals: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    merged: list[tuple[int, int]] = []
    for first, last in sorted(intervals):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], last))
        else:
            merged.append((first, last))
    return tuple(merged)
