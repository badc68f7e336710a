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
    """The process groups of a run, by the output of its processes."""

    world_sizes: tuple[int, ...]
    """The distinct world sizes printed; one if all agree, none if nothing was printed."""
    ranks: tuple[int, ...]
    """All ranks printed, in order, once for each pod."""
    groups: int | None
    """The minimum number of process groups; None if the output does not show it."""

    @property
    def world_size(self) -> int | None:
        """The world size that all processes print; None if they differ, or none prints one."""
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
        """`0-3`, `0 (3 times)`, `only 0 printed`."""
        if not self.ranks:
            return "not printed"
        repeated = [f"{rank} ({count} times)" for rank, count in sorted(Counter(self.ranks).items()) if count > 1]
        if repeated:
            return ", ".join(repeated)
        if self.is_complete:
            return f"0-{self.ranks[-1]}" if len(self.ranks) > 1 else "0"
        return f"only {', '.join(map(str, self.ranks))} printed"

    @property
    def is_complete(self) -> bool:
        """Whether each rank was printed by exactly one pod."""
        return self.world_size is not None and self.ranks == tuple(range(self.world_size))


def grouping(run: Run) -> Grouping:
    """The process groups, by the processes that printed a world size."""
    reporting = [process for process in run.processes if process.world_size]
    sizes = tuple(sorted({process.world_size or 0 for process in reporting}))
    ranks = tuple(sorted(process.rank for process in reporting if process.rank is not None))
    return Grouping(sizes, ranks, _groups(run, sizes, ranks))


def _groups(run: Run, sizes: tuple[int, ...], ranks: tuple[int, ...]) -> int | None:
    """The minimum number: a rank of several pods is in as many groups, and a group has no more pods than its world size."""
    if not sizes or (not ranks and sizes != (1,)):
        return None
    repeated = max(Counter(ranks).values(), default=1)
    training = sum(pod.label.rpartition("-")[0] not in _APART for pod in run.pods) + run.gone
    return max(repeated, len(sizes), math.ceil(training / sizes[-1]))
