"""What follows from the flight recorders of ranks: calls that differ, and ranks that are behind."""

from __future__ import annotations

from datetime import timedelta

import pytest

from doctor.evidences import log, pod, runs, seen
from doctor.recorder_dumps import Json, dump, entry, output
from job_evidence import NOW
from shunter.doctor import recorder
from shunter.doctor.diagnosing import diagnose
from shunter.doctor.evidence import Collective, Frame, Process, Recording, Sample


def causes(dumps: list[Json], *, goes_on: bool, moves: bool = False) -> list[str]:
    """What is said of ranks whose recorders hold this: they write a line between the samples, or move from call to call, or wait
    in all_reduce."""
    frames = [
        (Frame(function=name, file="torch/distributed/distributed_c10d.py"),)
        for name in ("all_reduce", "broadcast" if moves else "all_reduce")
    ]
    names = [pod(rank)["metadata"]["name"] for rank in range(3)]
    samples = tuple(
        Sample(
            at=NOW - timedelta(seconds=5 - 5 * number),
            processes=tuple(
                Process(pod=name, container="pytorch", pid=1, rank=rank, frames=frames[number], state="S")
                for rank, name in enumerate(names)
            ),
            last_lines={name: str(number * goes_on) for name in names},
        )
        for number in (0, 1)
    )
    given: list[Recording] = recorder.recordings([output(rank, one) for rank, one in enumerate(dumps)])
    logs = tuple(log(rank, "step 1 loss 0.5", "step 2 loss 0.5", at=40, every=0.1) for rank in range(3))
    evidence = seen(*(pod(rank, **runs()) for rank in range(3)), logs=logs, samples=samples, recordings=tuple(given))
    return [one.cause for one in diagnose(evidence, NOW).verdicts if one.id == "H04"]


def rows(*calls: tuple[str, list[list[int]]]) -> Json:
    return dump(*(entry(number, f"nccl:{name}", sizes) for number, (name, sizes) in enumerate(calls, 1)))


SAME = ("all_reduce", [[8]])


@pytest.mark.parametrize(
    ("other", "text"),
    [
        (("broadcast", [[8]]), "rank 1 calls broadcast where ranks 0 and 2 call all_reduce (call number 2 of default_pg)"),
        (
            ("all_reduce", [[16]]),
            "rank 1 calls all_reduce of [[16]] where ranks 0 and 2 call all_reduce of [[8]] (call number 2 of default_pg)",
        ),
    ],
    ids=["another call", "another size"],
)
@pytest.mark.parametrize("goes_on", [True, False])
def test_calls_that_differ_are_told_whether_or_not_the_job_goes_on(
    other: tuple[str, list[list[int]]], text: str, goes_on: bool
) -> None:
    assert causes([rows(SAME, SAME, SAME), rows(SAME, other, SAME), rows(SAME, SAME, SAME)], goes_on=goes_on) == [text]


def test_a_rank_is_behind_only_in_a_job_that_does_not_go_on() -> None:
    """Of a job that trains, recorders are read at different moments."""
    done = rows(SAME, SAME)
    waits = dump(entry(1, "nccl:all_reduce", [[8]]), entry(2, "nccl:all_reduce", [[8]], state="started"))
    given = [waits, rows(SAME), waits]
    assert causes(given, goes_on=True) == []
    assert causes(given, goes_on=False, moves=True) == []
    assert causes([done, rows(SAME), waits], goes_on=False) == []
    assert causes(given, goes_on=False) == [
        "rank 1 has not called all_reduce (call number 2 of default_pg), in which ranks 0 and 2 wait"
    ]


@pytest.mark.parametrize(
    "name", ["all_to_all", "all_to_all_single", "all_gather", "scatter", "reduce_scatter_v", "ALLGATHER_coalesced"]
)
def test_ranks_may_pass_different_sizes_to_some_calls(name: str) -> None:
    assert causes([rows((name, [[8]])), rows((name, [[16]])), rows((name, [[8]]))], goes_on=True) == []


def test_groups_of_some_ranks_are_not_compared_with_each_other() -> None:
    """Two groups of one description: each rank knows its own."""
    given = [dump(entry(1, "nccl:all_reduce", [[size]], group=(str(size), "mesh_tp"))) for size in (8, 8, 16)]
    assert causes(given, goes_on=True) == []


def calls(*names: str, first: int = 1) -> tuple[Collective, ...]:
    return tuple(Collective(number=number, name=name, sizes="[4]") for number, name in enumerate(names, first))


RECORDERS = {
    "all alike": ([calls("all_reduce", "all_reduce")] * 3, ""),
    "one calls another": (
        [calls("all_reduce", "all_reduce"), calls("all_reduce", "broadcast"), calls("all_reduce", "all_reduce")],
        "rank 1 calls broadcast where ranks 0 and 2 call all_reduce (call number 2 of default_pg)",
    ),
    "one is behind": (
        [calls("all_reduce", "all_reduce"), calls("all_reduce"), calls("all_reduce", "all_reduce")],
        "rank 1 has not called all_reduce (call number 2 of default_pg), in which ranks 0 and 2 wait",
    ),
    "rings that overflowed at different places": (
        [
            calls("all_reduce", "all_reduce", first=7),
            calls("broadcast", "all_reduce", "all_reduce", first=6),
            calls("all_reduce", "all_reduce", first=7),
        ],
        "",
    ),
    "a rank without a recorder": ([calls("all_reduce", "all_reduce"), calls("all_reduce")], ""),
}


@pytest.mark.parametrize(("recordings", "text"), RECORDERS.values(), ids=list(RECORDERS))
def test_recorders_are_compared_as_far_as_all_of_them_go(recordings: list[tuple[Collective, ...]], text: str) -> None:
    given = tuple(Recording(rank=rank, group="default_pg", entries=entries) for rank, entries in enumerate(recordings))
    evidence = seen(*(pod(rank, **runs()) for rank in range(3)), recordings=given)
    assert [verdict.cause for verdict in diagnose(evidence, NOW).verdicts if verdict.id == "H04"] == ([text] if text else [])
