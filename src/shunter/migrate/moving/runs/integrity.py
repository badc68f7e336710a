"""Determines whether the processes of a run trained together, from their own output: their configuration proves nothing, since a
program that ignores it trains alone, and succeeds.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import NamedTuple

from shunter.migrate.moving.runs.record import Run

_APART = ("launcher", "ps", "evaluator")
"""Roles that need not be in the process group."""


class Grouping(NamedTuple):
    """How the processes of a run stand to each other, as they said."""

    world_sizes: tuple[int, ...]
    """The different ones that were said; one when all agree, none when nobody spoke."""
    ranks: tuple[int, ...]
    """Every rank that was said, in order, as often as different pods said it."""
    groups: int | None
    """How many process groups there are at least; None when what was said does not tell."""

    @property
    def world_size(self) -> int | None:
        """The world size that all processes report; None when they differ, or none reports one."""
        return self.world_sizes[0] if len(self.world_sizes) == 1 else None

    @property
    def shown_world_size(self) -> str:
        """`4`, `1 and 4`, `not printed`."""
        return " and ".join(map(str, self.world_sizes)) or "not printed"

    @property
    def shown_groups(self) -> str:
        """`one`, `3 separate`, `unknown`."""
        return "unknown" if self.groups is None else "one" if self.groups == 1 else f"{self.groups} separate"

    @property
    def shown_ranks(self) -> str:
        """`0-3`, `0 (3 times)`, `only 0 spoke`."""
        if not self.ranks:
            return "not printed"
        repeated = [f"{rank} ({count} times)" for rank, count in sorted(Counter(self.ranks).items()) if count > 1]
        if repeated:
            return ", ".join(repeated)
        if self.is_complete:
            return f"0-{self.ranks[-1]}" if len(self.ranks) > 1 else "0"
        return f"only {', '.join(map(str, self.ranks))} spoke"

    @property
    def is_complete(self) -> bool:
        """Whether each rank of the world spoke, and from one pod."""
        return self.world_size is not None and self.ranks == tuple(range(self.world_size))


def grouping(run: Run) -> Grouping:
    """Of the processes that said a world size; others do not count."""
    said = [process for process in run.processes if process.world_size]
    sizes = tuple(sorted({process.world_size or 0 for process in said}))
    ranks = tuple(sorted(process.rank for process in said if process.rank is not None))
    return Grouping(sizes, ranks, _groups(run, sizes, ranks))


def _groups(run: Run, sizes: tuple[int, ...], ranks: tuple[int, ...]) -> int | None:
    """At least so many: a rank that several pods have is in as many groups, and no group has more pods than its world size."""
    if not sizes or (not ranks and sizes != (1,)):
        return None
    repeated = max(Counter(ranks).values(), default=1)
    training = sum(pod.label.rpartition("-")[0] not in _APART for pod in run.pods) + run.gone
    return max(repeated, len(sizes), math.ceil(training / sizes[-1]))
