"""What two runs are said to have in common. Runs are made of log lines, as real ones are."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from shunter.jobs.logs.metrics import log_report
from shunter.jobs.metrics import Point, Series
from shunter.migrate.moving.runs.comparison import Comparison, Tolerance, compared
from shunter.migrate.moving.runs.record import Pod, Run

BEGUN = datetime(2026, 11, 21, 10, tzinfo=UTC)


def run(*logs: list[str], **fields: Any) -> Run:
    """A finished run, a log for each pod."""
    tellings = [log_report(lines, pod=f"node-{rank}", rank=rank) for rank, lines in enumerate(logs)]
    made = Run(
        kind="TrainJob",
        name="bert",
        state="Succeeded",
        started=BEGUN,
        finished=BEGUN + timedelta(seconds=60),
        first_step=BEGUN + timedelta(seconds=5),
        pods=tuple(Pod(label=f"node-{rank}", rank=rank, requests={"cpu": "2"}) for rank in range(len(logs))),
        processes=tuple(process for one in tellings for process in one.processes),
        series=tuple(series for one in tellings for series in one.series),
        seed=next((one.seed for one in tellings if one.seed), ""),
    )
    return msgspec.structs.replace(made, **fields)


def trained(world_size: int, losses: list[float], **fields: Any) -> Run:
    """A group of processes that print their losses."""
    return run(*(spoken(rank, world_size, losses) for rank in range(world_size)), **fields)


def spoken(rank: int, world_size: int, losses: list[float]) -> list[str]:
    return [f"rank={rank} world_size={world_size}", *(f"step={step} loss={loss}" for step, loss in enumerate(losses, 1))]


def aspects(comparison: Comparison) -> dict[str, str]:
    return {aspect.name: aspect.verdict for aspect in comparison.aspects}


def why(comparison: Comparison, name: str) -> str:
    return next(aspect.why for aspect in comparison.aspects if aspect.name == name)


LOSSES = [2.5, 1.5, 0.6010]


def test_runs_with_equal_logs_are_equal() -> None:
    comparison = compared(trained(2, LOSSES), trained(2, LOSSES), Tolerance())
    assert comparison.verdict == "equal"
    assert aspects(comparison) == {
        "status": "equal",
        "world size": "equal",
        "ranks": "equal",
        "process group": "equal",
        "pods": "equal",
        "resources": "equal",
        "restarts": "equal",
        "first steps of loss": "equal",
        "final loss": "equal",
        "throughput": "not seen",
        "wall time": "within tolerance",
        "time to first step": "within tolerance",
    }


def test_steps_that_are_not_the_first_of_both_runs_are_named() -> None:
    """The log of a pod begins later where the kubelet has rotated it."""
    rotated = run(["rank=0 world_size=1", *spoken(0, 1, [9.0, 1.5, 0.6010])[2:]])
    comparison = compared(trained(1, LOSSES), rotated, Tolerance())
    [steps] = [aspect for aspect in comparison.aspects if aspect.name == "first steps of loss"]
    assert (steps.original, steps.successor) == ("1.5, ... 2 values from step 2", "1.5, ...")
    [steps] = [aspect for aspect in compared(rotated, rotated, Tolerance()).aspects if aspect.name == "first steps of loss"]
    assert steps.original == "1.5, ... 2 values"


def test_a_final_loss_of_0_6010_and_one_of_0_7009_are_different_by_default() -> None:
    """A public report called this equivalent convergence."""
    comparison = compared(trained(2, LOSSES), trained(2, [2.5, 1.5, 0.7009]), Tolerance())
    assert comparison.verdict == "different"
    assert why(comparison, "final loss") == "step 3 of rank 0: 0.601 and 0.7009, 0.0999 apart (14.25%)"
    assert why(comparison, "first steps of loss").startswith("step 3 of rank 0")


def test_separate_trainings_are_told_from_one_even_when_every_loss_agrees() -> None:
    """Each process a world of its own: what becomes of plain `python` when nobody tells it its rank."""
    alone = run(*(spoken(0, 1, LOSSES) for _ in range(3)))
    comparison = compared(trained(3, LOSSES), alone, Tolerance())
    assert comparison.verdict == "different"
    assert (
        aspects(comparison)["world size"] == aspects(comparison)["process group"] == aspects(comparison)["ranks"] == "different"
    )
    assert why(comparison, "process group") == "its 3 groups each train a model of their own"


def test_processes_that_disagree_on_the_world_size_are_no_group() -> None:
    mixed = run(spoken(0, 3, LOSSES), spoken(1, 3, LOSSES), spoken(0, 1, LOSSES))
    comparison = compared(trained(3, LOSSES), mixed, Tolerance())
    assert comparison.verdict == "different"
    assert next(aspect.successor for aspect in comparison.aspects if aspect.name == "world size") == "1 and 3"


SECOND = {
    "a value that is within the relative tolerance": (trained(2, [2.5, 1.5, 0.6015]), "within tolerance"),
    "a step less": (trained(2, LOSSES[:2]), "different"),
    "a loss that is no number": (trained(2, [2.5, 1.5, float("nan")]), "different"),
    "a run that failed": (trained(2, LOSSES, state="Failed", message="exit code 1"), "different"),
    "a run that still runs": (trained(2, LOSSES, state="Running", finished=None), "not comparable"),
    "a silent run": (run(["hello"], ["hello"]), "not comparable"),
    "losses without ranks": (run([f"step={n} loss={x}" for n, x in enumerate(LOSSES, 1)]), "different"),
    "another number of pods": (trained(3, LOSSES), "different"),
    "other resources": (trained(2, LOSSES, pods=(Pod(label="node-0", rank=0), Pod(label="node-1", rank=1))), "different"),
    "a slower run": (trained(2, LOSSES, finished=BEGUN + timedelta(seconds=90)), "equal"),
    "a restart": (
        trained(2, LOSSES, pods=tuple(Pod(label=f"node-{n}", rank=n, restarts=n, requests={"cpu": "2"}) for n in (0, 1))),
        "equal",
    ),
    "another metric only": (run(*(["rank=0 world_size=1", "step=1 accuracy=1"] for _ in "ab")), "different"),
}


@pytest.mark.parametrize(("successor", "verdict"), SECOND.values(), ids=SECOND)
def test_a_run_is_compared_with(successor: Run, verdict: str) -> None:
    assert compared(trained(2, LOSSES), successor, Tolerance()).verdict == verdict


SILENT = run(["hello"], ["hello"])
GONE = trained(2, [], pods=(), processes=(), planned=({"cpu": "2"}, {"cpu": "2"}))
NEVER_RAN = msgspec.structs.replace(GONE, state="Suspended", ran=False, started=None, finished=None)
MOVED = trained(2, LOSSES[:2], state="Running", moved=True, finished=None)
CONTINUED = msgspec.structs.replace(trained(2, []), series=run(["step=3 loss=0.6"], ["step=3 loss=0.6"]).series)
WORLD = ("world size", "ranks", "process group")
BY_WHAT_THERE_IS: dict[str, tuple[Run, Run, tuple[str, ...]]] = {
    "programs that print nothing": (SILENT, SILENT, (*WORLD, "final metrics", "throughput")),
    "an original whose pods are gone": (GONE, trained(2, LOSSES), (*WORLD, "final metrics", "throughput")),
    "an original that never ran": (NEVER_RAN, trained(2, LOSSES), ("status", *WORLD, "final metrics", "throughput")),
    "a moved one, and a successor that began again": (MOVED, trained(2, LOSSES), ("status", "final loss", "throughput")),
    "a moved one, and a successor that went on from its checkpoint": (
        MOVED, CONTINUED, ("status", "first steps of loss", "final loss", "throughput")),
    "a moved one that had said nothing": (
        trained(2, [], processes=(), state="Running", moved=True, finished=None), trained(2, LOSSES),
        ("status", *WORLD, "final metrics", "throughput")),
    "a successor whose other pods went with the first": (
        SILENT, msgspec.structs.replace(SILENT, pods=SILENT.pods[:1], gone=1, planned=({"cpu": "2"}, {"cpu": "2"})),
        (*WORLD, "final metrics", "throughput")),
}  # fmt: skip


@pytest.mark.parametrize(("original", "successor", "unseen"), BY_WHAT_THERE_IS.values(), ids=BY_WHAT_THERE_IS)
def test_runs_in_which_nothing_differs_are_equal_and_what_was_not_seen_is_named(
    original: Run, successor: Run, unseen: tuple[str, ...]
) -> None:
    comparison = compared(original, successor, Tolerance())
    assert comparison.verdict == "equal", aspects(comparison)
    assert comparison.unobserved == unseen


ALONE = run(*(spoken(0, 1, LOSSES) for _ in range(2)))
ALONE_AND_SILENT = run(["rank=0 world_size=1"], ["rank=0 world_size=1"])
STILL_DIFFERENT = {
    "processes that each train alone where the original said nothing": (SILENT, ALONE_AND_SILENT),
    "processes that each train alone where the original is gone": (GONE, ALONE),
    "processes that each train alone where the original never ran": (NEVER_RAN, ALONE),
    "a pod less than the original asked for": (NEVER_RAN, trained(1, LOSSES)),
    "less of the processor than the original asked for": (
        NEVER_RAN, trained(2, LOSSES, pods=tuple(Pod(label=f"node-{n}", rank=n, requests={"cpu": "1"}) for n in (0, 1)))),
    "other values in the steps that a moved one did": (MOVED, trained(2, [2.5, 1.9, 0.6])),
    "a failed successor of a moved one": (MOVED, trained(2, LOSSES, state="Failed")),
    "a failed successor of one that never ran": (NEVER_RAN, trained(2, LOSSES, state="Failed")),
}  # fmt: skip


@pytest.mark.parametrize(("original", "successor"), STILL_DIFFERENT.values(), ids=STILL_DIFFERENT)
def test_what_can_be_seen_decides_all_the_same(original: Run, successor: Run) -> None:
    comparison = compared(original, successor, Tolerance())
    assert (comparison.verdict, comparison.unobserved) == ("different", ())


TO_BE_DONE = {
    "wait for the original": (trained(2, LOSSES, state="Running"), trained(2, LOSSES), "wait until it has finished"),
    "wait for the successor": (trained(2, LOSSES), trained(2, LOSSES, state="Running"), "wait until it has finished"),
    "use what apply kept": (
        trained(2, [], state="Suspended", pods=(), processes=()), trained(2, LOSSES), "compare with what was kept (--plan"),
    "look for a metric that one run printed": (trained(2, LOSSES), trained(2, []), "name one with --metric"),
    "let the successor say its rank": (
        trained(2, []), SILENT, "TrainJob bert did not; have it print rank=R world_size=N"),
    "run both with one seed": (run(["seed=1", "step=1 loss=1"]), run(["seed=2", "step=1 loss=2"]), "run both with one"),
}  # fmt: skip


@pytest.mark.parametrize(("original", "successor", "remedy"), TO_BE_DONE.values(), ids=TO_BE_DONE)
def test_not_comparable_says_what_to_do(original: Run, successor: Run, remedy: str) -> None:
    comparison = compared(original, successor, Tolerance())
    assert comparison.verdict == "not comparable", aspects(comparison)
    assert any(remedy in aspect.why for aspect in comparison.aspects if aspect.verdict == "not comparable")


def test_two_runs_that_both_diverged_are_equal_in_that() -> None:
    diverged = trained(2, [2.5, float("nan")])
    assert compared(diverged, diverged, Tolerance()).verdict == "equal"


def test_a_world_of_no_processes_is_none() -> None:
    """`world_size=0` is what torch.cuda.device_count() makes of a machine without GPUs."""
    silent = run(["rank=0 world_size=0", "step=1 loss=2.5"])
    assert aspects(compared(silent, silent, Tolerance()))["process group"] == "not seen"


def test_a_speed_that_is_printed_as_0_is_none() -> None:
    slow = [f"{BEGUN + timedelta(seconds=300 * step):%Y-%m-%dT%H:%M:%SZ} step={step} 0.00 steps/s" for step in range(1, 4)]
    assert aspects(compared(run(slow), run(slow), Tolerance()))["throughput"] == "not seen"


def test_a_metric_of_one_run_only_is_told() -> None:
    one, other = trained(1, LOSSES), trained(1, LOSSES)
    more = Series(name="accuracy", rank=0, points=(Point((1.0,), 0.9),))
    comparison = compared(one.with_series([more]), other, Tolerance())
    assert comparison.verdict == "equal"
    assert why(comparison, "other metrics") == "only one run reports them"
    assert aspects(comparison)["other metrics"] == "not seen"


def test_tolerances_are_the_users() -> None:
    one, other = trained(1, [1.0]), trained(1, [1.0 + 1e-7])
    assert compared(one, other, Tolerance(relative=0, absolute=1e-6)).verdict == "within tolerance"
    assert compared(one, other, Tolerance(relative=0, absolute=0)).verdict == "different"


def test_only_the_first_steps_are_compared_one_by_one() -> None:
    one, other = trained(1, [1.0, 1.0, 1.0]), trained(1, [1.0, 2.0, 1.0])
    assert compared(one, other, Tolerance(first_steps=1)).verdict == "equal"
    assert compared(one, other, Tolerance(first_steps=2)).verdict == "different"


def test_runs_with_other_seeds_are_not_comparable() -> None:
    one = run(["seed=1", *spoken(0, 1, LOSSES)])
    other = run(["seed=2", *spoken(0, 1, [9.0])])
    comparison = compared(one, other, Tolerance())
    assert comparison.verdict == "not comparable"
    assert why(comparison, "first steps of loss") == "their seeds differ: 1 and 2; run both with one"


def test_a_trial_on_fewer_nodes_is_judged_by_its_process_group_alone() -> None:
    trial = trained(1, [7.0], changed={"nodes": "1 of 3"})
    comparison = compared(trained(3, LOSSES), trial, Tolerance())
    assert aspects(comparison)["process group"] == "equal"
    assert comparison.verdict == "not comparable"
    assert comparison.is_acceptable
    assert why(comparison, "world size") == "TrainJob bert ran on 1 of 3 nodes on purpose"


def test_a_trial_on_fewer_nodes_that_falls_apart_is_different() -> None:
    trial = run(spoken(0, 1, LOSSES), spoken(0, 1, LOSSES), changed={"nodes": "2 of 3"})
    comparison = compared(trained(3, LOSSES), trial, Tolerance())
    assert comparison.verdict == "different"
    assert not comparison.is_acceptable


def test_a_silent_trial_is_not_what_was_wanted() -> None:
    silent = run(["hello"], changed={"nodes": "1 of 3"})
    assert not compared(trained(3, LOSSES), silent, Tolerance()).is_acceptable


def test_a_trial_of_fewer_steps_is_compared_by_its_first_ones() -> None:
    trial = trained(2, LOSSES[:2], changed={"steps": "2"})
    comparison = compared(trained(2, LOSSES), trial, Tolerance())
    assert comparison.verdict == "equal"
    assert aspects(comparison)["final loss"] == "not comparable"


def paced(seconds: float) -> Run:
    """A run of 100 steps that takes so long."""
    lines = ["rank=0 world_size=1"]
    for step in range(101):
        time = BEGUN + timedelta(seconds=step * seconds / 100)
        lines.append(f"{time.isoformat(timespec='microseconds').replace('+00:00', 'Z')} step={step} loss=1.0")
    return run(lines)


PACES = {
    "four percent slower": (100, 104, "within tolerance"),
    "ten percent slower": (100, 110, "different"),
    "ten percent slower, over a second": (1, 1.1, "not seen"),
}


@pytest.mark.parametrize(("one", "other", "verdict"), PACES.values(), ids=PACES)
def test_throughput_decides_where_it_can_be_measured(one: float, other: float, verdict: str) -> None:
    assert aspects(compared(paced(one), paced(other), Tolerance()))["throughput"] == verdict


def test_metrics_of_different_sources_are_compared_by_their_ends() -> None:
    """v1 has no trainerStatus."""
    reported = Series(name="loss", source="trainerStatus", is_counted=True, points=(Point((1.0,), 0.6010),))
    successor = run(["rank=0 world_size=1"]).with_series([reported])
    comparison = compared(trained(1, LOSSES), successor, Tolerance())
    assert aspects(comparison)["final loss"] == "equal"
    assert "first steps of loss" not in aspects(comparison)


def test_ends_at_different_steps_of_different_sources_are_not_compared() -> None:
    charted = Series(name="loss", source="tensorboard", points=(Point((1.0,), 2.5), Point((2.0,), 0.6010)))
    comparison = compared(trained(1, LOSSES), run(["rank=0 world_size=1"]).with_series([charted]), Tolerance())
    assert aspects(comparison)["final loss"] == "not comparable"
    assert "one ends at step 3, the other at step 2" in why(comparison, "final loss")


def test_ranks_that_report_a_metric_in_one_run_only_make_runs_different() -> None:
    quiet = run(spoken(0, 2, LOSSES), ["rank=1 world_size=2"])
    comparison = compared(trained(2, LOSSES), quiet, Tolerance())
    assert (comparison.verdict, aspects(comparison)["ranks that report loss"]) == ("different", "different")
    assert why(comparison, "ranks that report loss") == "in TrainJob bert they report none"
    assert compared(quiet, trained(2, LOSSES), Tolerance()).verdict == "different"


def test_ranks_of_which_no_line_is_left_are_not_seen() -> None:
    losses = spoken(0, 2, LOSSES)[1:]
    comparison = compared(run(losses, []), run(losses, losses), Tolerance())
    assert aspects(comparison)["ranks that report loss"] == "not seen"
    assert "ranks that report loss" in comparison.unobserved


def test_ranks_that_printed_nothing_while_others_did_are_listed_once() -> None:
    """The pod of a Worker may be deleted, with its log, as soon as the Master has succeeded."""
    comparison = compared(run(spoken(0, 2, LOSSES), []), trained(2, LOSSES), Tolerance())
    assert (comparison.verdict, aspects(comparison)["ranks"]) == ("equal", "not seen")
    assert "ranks that report loss" not in aspects(comparison)


def test_losses_that_are_no_finite_numbers_in_both_runs_show_nothing() -> None:
    diverged = trained(1, [float("nan")] * 3)
    comparison = compared(diverged, diverged, Tolerance())
    assert comparison.verdict == "not comparable"
    assert why(comparison, "final loss") == "no value is a finite number: compare runs that train"


def test_two_runs_that_failed_are_not_comparable() -> None:
    one, other = (trained(2, LOSSES, state="Failed", message=message) for message in ("exit code 1", "out of memory"))
    comparison = compared(one, other, Tolerance())
    assert comparison.verdict == "not comparable"
    assert "(exit code 1 / out of memory)" in why(comparison, "status")


def test_a_run_is_not_compared_with_itself() -> None:
    one = trained(2, LOSSES, uid="u1")
    comparison = compared(one, one, Tolerance())
    assert comparison.verdict == "not comparable"
    assert "name the v1 job and the TrainJob converted from it" in why(comparison, "status")
