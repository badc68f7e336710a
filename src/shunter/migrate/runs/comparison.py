"""Whether two runs trained the same: aspect by aspect, each with both values and, where that is not plain, why.

Of aspects that say what was learned and by whom a difference decides; how long something took is shown, but two runs on a shared
cluster never take equally long, so it decides only as throughput, and only where there was time enough to measure it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Literal, NamedTuple

from shunter.api.meta import Struct
from shunter.api.quantity import parse
from shunter.jobs.log_metrics import RATE
from shunter.jobs.metrics import Series
from shunter.migrate.runs.integrity import grouping
from shunter.migrate.runs.learning import learning
from shunter.migrate.runs.record import Pod, Run

Verdict = Literal["equal", "within tolerance", "different", "not comparable"]

MEASURABLE_SECONDS = 10.0
"""A shorter stretch says more of the machine's other work than of the program's speed."""


class Tolerance(Struct, frozen=True):
    """What still counts as the same. A metric is within it when either of the first two holds."""

    relative: float = 0.01
    absolute: float = 1e-6
    throughput: float = 0.05
    first_steps: int = 10
    """So many of the first common steps are compared one by one; afterwards runs drift apart, and only the end counts."""

    def holds(self, one: float, other: float) -> bool:
        return math.isclose(one, other, rel_tol=self.relative, abs_tol=self.absolute)


class Aspect(NamedTuple):
    name: str
    verdict: Verdict
    original: str
    successor: str
    why: str = ""
    decides: bool = True


class Comparison(NamedTuple):
    original: Run
    successor: Run
    aspects: tuple[Aspect, ...]

    @property
    def verdict(self) -> Verdict:
        """That of all deciding aspects together. Runs of which no metric, or not the process group, could be compared are not
        comparable, whatever else is equal: they may have trained anything."""
        decisive = {aspect.name: aspect.verdict for aspect in self.aspects if aspect.decides}
        if "different" in decisive.values():
            return "different"
        metrics = [aspect.verdict for aspect in self.aspects if aspect.name.startswith(_METRICS)]
        learned = [verdict for verdict in metrics if verdict != "not comparable"]
        if not learned or any(decisive[name] == "not comparable" for name in ("status", "process group")):
            return "not comparable"
        return "within tolerance" if "within tolerance" in decisive.values() else "equal"

    @property
    def is_as_wanted(self) -> bool:
        """Whether the runs are the same, or as much the same as runs on different numbers of nodes can be: in how they group."""
        if self.verdict != "not comparable":
            return self.verdict != "different"
        is_shrunk = any("nodes" in run.changed for run in (self.original, self.successor))
        return is_shrunk and any(aspect.name == "process group" and aspect.verdict == "equal" for aspect in self.aspects)


_METRICS = ("first steps of ", "final ")


def compared(original: Run, successor: Run, tolerance: Tolerance) -> Comparison:
    """The runs side by side. Both may have been read long before; neither is asked anything."""
    aspects = (
        _status(original, successor),
        *_integrity(original, successor),
        _pods(original, successor),
        _resources(original, successor),
        _restarts(original, successor),
        *_learned(original, successor, tolerance),
        _throughput(original, successor, tolerance),
        _seconds("wall time", original.wall_seconds, successor.wall_seconds, tolerance),
        _seconds("time to first step", original.first_step_seconds, successor.first_step_seconds, tolerance),
    )
    return Comparison(original, successor, aspects)


def _status(original: Run, successor: Run) -> Aspect:
    running = next((run for run in (original, successor) if not run.is_finished), None)
    if running is not None:
        why = f"{running.title} is not finished"
        return Aspect("status", "not comparable", original.state, successor.state, why)
    return _same("status", original.state, successor.state, successor.message if successor.state == "Failed" else "")


def _integrity(original: Run, successor: Run) -> Iterator[Aspect]:
    one, other = grouping(original), grouping(successor)
    silent = next((run.title for run, seen in ((original, one), (successor, other)) if not seen.world_sizes), "")
    why = f"no process of {silent} printed its rank and world size; have it print rank=R world_size=N" if silent else ""
    reason = why or _of_nodes(original, successor)
    shown = one.shown_world_size, other.shown_world_size
    yield Aspect("world size", "not comparable", *shown, reason) if reason else _same("world size", *shown)
    shown = one.shown_ranks, other.shown_ranks
    if reason or not (one.ranks and other.ranks):
        yield Aspect("ranks", "not comparable", *shown, reason or "no rank was printed")
    elif one.is_complete != other.is_complete and (one.groups, other.groups) == (1, 1):
        yield Aspect("ranks", "not comparable", *shown, "in one run not every rank spoke")
    else:
        yield _same("ranks", *shown)
    shown = one.shown_groups, other.shown_groups
    if one.groups is None or other.groups is None:
        yield Aspect("process group", "not comparable", *shown, why or "the ranks printed do not tell")
    elif one.groups == 1 < other.groups:
        yield Aspect("process group", "different", *shown, f"its {other.groups} groups each train a model of their own")
    else:
        yield _same("process group", *shown)


def _of_nodes(original: Run, successor: Run) -> str:
    """Why counts of pods and ranks differ on purpose; empty when they should not."""
    run = next((run for run in (original, successor) if "nodes" in run.changed), None)
    return f"{run.title} ran on {run.changed['nodes']} nodes on purpose" if run else ""


def _pods(original: Run, successor: Run) -> Aspect:
    shown = str(len(original.pods)), str(len(successor.pods))
    why = _gone(original, successor) or _of_nodes(original, successor)
    return Aspect("pods", "not comparable", *shown, why) if why else _same("pods", *shown)


def _resources(original: Run, successor: Run) -> Aspect:
    one, other = _totals(original.pods), _totals(successor.pods)
    shown = _shown_totals(one), _shown_totals(other)
    if why := _gone(original, successor) or _of_nodes(original, successor):
        return Aspect("resources", "not comparable", *shown, why)
    return Aspect("resources", "equal" if one == other else "different", *shown)


def _restarts(original: Run, successor: Run) -> Aspect:
    one, other = (str(sum(pod.restarts for pod in run.pods)) for run in (original, successor))
    if why := _gone(original, successor):
        return Aspect("restarts", "not comparable", one, other, why, decides=False)
    return _same("restarts", one, other)._replace(decides=False)


def _gone(original: Run, successor: Run) -> str:
    run = next((run for run in (original, successor) if run.gone or not run.pods), None)
    return f"{run.gone or 'all'} pods of {run.title} are gone" if run else ""


def _totals(pods: tuple[Pod, ...]) -> dict[str, float]:
    amounts: dict[str, float] = {}
    for pod in pods:
        for name, quantity in pod.requests.items():
            amounts[name] = amounts.get(name, 0.0) + float(parse(quantity))
    return amounts


def _shown_totals(amounts: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:g}" for name, value in sorted(amounts.items())) or "none asked for"


def _learned(original: Run, successor: Run, tolerance: Tolerance) -> Iterator[Aspect]:
    reason = _incomparable(original, successor)
    found = False
    for part in learning(original, successor, tolerance.first_steps):
        found = True
        shown = part.original, part.successor
        why = reason or part.obstacle
        if why:
            yield Aspect(part.name, "not comparable", *shown, why)
            continue
        if part.mismatch:
            yield Aspect(part.name, "different", *shown, part.mismatch)
            continue
        outside = [pair for pair in part.pairs if not pair.is_equal and not (pair.is_finite and tolerance.holds(*pair.values))]
        if outside:
            worst = outside[0]
            yield Aspect(part.name, "different", *shown, f"{worst.where}: {worst.shown}, {worst.deviation}")
        elif all(pair.is_equal for pair in part.pairs):
            yield Aspect(part.name, "equal", *shown)
        else:
            largest = max(part.pairs, key=lambda pair: abs(pair.values[0] - pair.values[1]) if pair.is_finite else 0.0)
            yield Aspect(part.name, "within tolerance", *shown, f"at most {largest.deviation}, {largest.where}")
    if not found:
        silent = next((run.title for run in (original, successor) if not run.series), "")
        why = f"{silent} printed no metric that is known" if silent else "they have no metric in common"
        yield Aspect("final metrics", "not comparable", "", "", f"{why}; name one with --metric")
        return
    names = [[series.name for series in run.series if series.name != RATE] for run in (original, successor)]
    alone = [[name for name in dict.fromkeys(ours) if name not in theirs] for ours, theirs in (names, names[::-1])]
    if any(alone):
        shown = ", ".join(alone[0]), ", ".join(alone[1])
        yield Aspect("other metrics", "not comparable", *shown, "only one run reports them", decides=False)


def _incomparable(original: Run, successor: Run) -> str:
    """Why no metric of the runs can be compared; empty when they can."""
    if why := _of_nodes(original, successor):
        return f"{why}: each step sees other data"
    if original.seed and successor.seed and original.seed != successor.seed:
        return f"their seeds differ: {original.seed} and {successor.seed}"
    return ""


class _Stretch(NamedTuple):
    rate: float
    seconds: float
    unit: str


def _throughput(original: Run, successor: Run, tolerance: Tolerance) -> Aspect:
    one, other = _stretches(original, successor)
    if one is None or other is None:
        return Aspect("throughput", "not comparable", "", "", "the logs do not say when steps were done")
    shown = f"{one.rate:.4g} {one.unit}", f"{other.rate:.4g} {other.unit}"
    if min(one.seconds, other.seconds) < MEASURABLE_SECONDS:
        why = f"measured over {min(one.seconds, other.seconds):.1f} s; {MEASURABLE_SECONDS:.0f} s are needed"
        return Aspect("throughput", "not comparable", *shown, why)
    if why := _of_nodes(original, successor) or ("" if one.rate else "the original's speed is printed as 0"):
        return Aspect("throughput", "not comparable", *shown, why)
    change = other.rate / one.rate - 1
    verdict: Verdict = "equal" if change == 0 else "within tolerance" if abs(change) <= tolerance.throughput else "different"
    return Aspect("throughput", verdict, *shown, f"{change:+.1%}" if change else "")


def _stretches(original: Run, successor: Run) -> tuple[_Stretch | None, _Stretch | None]:
    """What the programs say of their speed, or else steps by the clock: both of the same metric, over the same steps."""
    for one in original.series:
        for other in successor.series:
            if (one.name, one.rank, one.source) != (other.name, other.rank, other.source):
                continue
            stretches = _stretch(one, other), _stretch(other, one)
            if all(stretches):
                return stretches
    return None, None


def _stretch(series: Series, twin: Series) -> _Stretch | None:
    common = {point.at for point in series.points} & {point.at for point in twin.points}
    timed = [point for point in series.points if point.at in common and point.time is not None and point.value is not None]
    if len(timed) < 2:
        return None
    seconds = (timed[-1].time or 0.0) - (timed[0].time or 0.0)
    if series.name == RATE:
        # The first value is of the time in which everything was still getting warm.
        values = [point.value or 0.0 for point in timed[1:]]
        return _Stretch(sum(values) / len(values), seconds, "as printed")
    return _Stretch((len(timed) - 1) / seconds, seconds, "steps/s") if seconds > 0 else None


def _seconds(name: str, one: float | None, other: float | None, tolerance: Tolerance) -> Aspect:
    shown = tuple("unknown" if seconds is None else f"{seconds:.1f} s" for seconds in (one, other))
    if one is None or other is None:
        return Aspect(name, "not comparable", shown[0], shown[1], "times are not known of both", decides=False)
    is_close = math.isclose(one, other, rel_tol=tolerance.throughput)
    return Aspect(name, "within tolerance" if is_close else "different", shown[0], shown[1], decides=False)


def _same(name: str, original: str, successor: str, why: str = "") -> Aspect:
    return Aspect(name, "equal" if original == successor else "different", original, successor, why)
