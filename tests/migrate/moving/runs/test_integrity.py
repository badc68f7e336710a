"""Whether processes trained as one group, by what they printed."""

from __future__ import annotations

import pytest

from shunter.jobs.logs.metrics import log_report
from shunter.jobs.metrics import Process
from shunter.migrate.moving.runs.integrity import grouping
from shunter.migrate.moving.runs.record import Pod, Run

GROUPS: dict[str, tuple[list[tuple[str, int | None, int]], str, str]] = {
    "a whole world": ([("a", 0, 2), ("b", 1, 2)], "one", "0-1"),
    "the first rank alone speaks": ([("a", 0, 4)], "one", "only 0 printed"),
    "each a world of its own": ([("a", 0, 1), ("b", 0, 1)], "2 separate", "0 (2 times)"),
    "each a world, without a rank": ([("a", None, 1), ("b", None, 1)], "2 separate", "not printed"),
    "two groups of two": ([("a", 0, 2), ("b", 1, 2), ("c", 0, 2), ("d", 1, 2)], "2 separate", "0 (2 times), 1 (2 times)"),
    "sizes alone": ([("a", None, 2), ("b", None, 2)], "unknown", "not printed"),
    "nobody": ([], "unknown", "not printed"),
}


def test_one_that_trains_alone_is_not_the_only_group_when_the_logs_of_others_are_gone() -> None:
    alone = Process(pod="node-0", rank=0, world_size=1)
    assert grouping(Run(pods=(Pod(label="node-0", rank=0),), gone=2, processes=(alone,))).shown_groups == "3 separate"


def test_a_launcher_need_not_be_in_the_group() -> None:
    pods = tuple(Pod(label=label, rank=rank) for rank, label in enumerate(("launcher-0", "worker-0", "worker-1")))
    assert grouping(Run(pods=pods, processes=(Process(pod="launcher-0", rank=0, world_size=2),))).groups == 1


@pytest.mark.parametrize(("said", "groups", "ranks"), GROUPS.values(), ids=GROUPS)
def test_what_processes_say_of_themselves_tells_how_they_are_grouped(
    said: list[tuple[str, int | None, int]], groups: str, ranks: str
) -> None:
    lines = [
        (f"rank={rank} world_size={size}" if rank is not None else f"world_size={size}", place) for place, rank, size in said
    ]
    processes = [process for line, place in lines for process in log_report([line], pod=place, rank=None).processes]
    pods = tuple(Pod(label=f"node-{rank}", rank=rank) for rank in range(len(said)))
    found = grouping(Run(pods=pods, processes=tuple(processes)))
    assert (found.shown_groups, found.shown_ranks) == (groups, ranks)
