"""Completion indexes as Jobs write them: `0,2-5,7`."""

from __future__ import annotations

from shunter.api.formats.digits import whole_number


class IndexesError(ValueError):
    """A text that does not list indexes, in Kubernetes' words."""


def parse_indexes(text: str, completions: int) -> list[tuple[int, int]]:
    """Intervals, both ends included, in increasing order and below `completions`. Raises IndexesError."""
    intervals: list[tuple[int, int]] = []
    for fragment in text.split(",") if text else ():
        first, last = _interval(fragment, completions)
        if intervals and intervals[-1][1] >= first:
            raise IndexesError(f"non-increasing order, previous: {intervals[-1][1]}, current: {first}")
        intervals.append((first, last))
    return intervals


def _interval(fragment: str, completions: int) -> tuple[int, int]:
    limits = fragment.split("-")
    if len(limits) > 2:
        rule = "the requirement that an index interval can have at most two parts separated by '-'"
        raise IndexesError(f'the fragment "{fragment}" violates {rule}')
    first = _index(limits[0], completions)
    if len(limits) == 1:
        return first, first
    last = _index(limits[1], completions)
    if first >= last:
        raise IndexesError(f"non-increasing order, previous: {first}, current: {last}")
    return first, last


def _index(text: str, completions: int) -> int:
    index = whole_number(text.removeprefix("+"))
    if index is None:
        raise IndexesError(f'cannot convert string to integer for index: "{text}"')
    if index >= completions:
        raise IndexesError(f'too large index: "{text}"')
    return index
