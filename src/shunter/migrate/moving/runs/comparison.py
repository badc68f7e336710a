"""Compares two runs, aspect by aspect, with both values and a reason where needed.

A difference in metrics or in process groups decides the verdict. Durations are only shown, because they vary on a shared cluster;
throughput decides if it was measured long enough.

Aspects that could not be observed do not affect the verdict, but are listed (`not seen`). Runs are `not comparable` only for
reasons that users can remove; each reason says how.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from shunter.api.formats.counts import count
from shunter.api.formats.quantity import parse
from shunter.api.meta import Struct
from shunter.jobs.logs.metrics import RATE
from shunter.jobs.metrics import Series
from shunter.migrate.moving.runs.integrity import grouping
from shunter.migrate.moving.runs.learning import learning, missing_ranks
from shunter.migrate.moving.runs.record import Run
from shunter.migrate.run_verdicts import Verdict

AspectVerdict = Verdict | Literal["not seen"]

MEASURABLE_SECONDS = 10.0
"""Throughput is not measured over less time, because other load on the machine would dominate."""


class Tolerance(Struct, frozen=True):
    """The tolerances. A metric is within tolerance if one of the first two is met."""

    relative: float = 0.01
    absolute: float = 1e-6
    throughput: float = 0.05
    first_steps: int = 10
    """The number of first common steps that are compared; later steps drift apart, so only the end is compared."""

    def holds(self, one: float, other: float) -> bool:
        """Whether two values of a metric are within tolerance. `relative` is a share of the greater one."""
        return math.isclose(one, other, rel_tol=self.relative, abs_tol=self.absolute)


class Aspect(NamedTuple):
    """One aspect of the comparison, with the values of both runs. One that does not decide is only shown."""

    name: str
    verdict: AspectVerdict
    original: str
    successor: str
    why: str = ""
    decides: bool = True


class Comparison(NamedTuple):
    """The comparison of two runs. Usually the original is that of a v1 job, the successor that of its TrainJob."""

    original: Run
    successor: Run
    aspects: tuple[Aspect, ...]

    @property
    def verdict(self) -> Verdict:
        """The verdict of all deciding aspects: equal if no observed aspect differs; not comparable if a run has not finished or
        was changed intentionally, if both failed or are the same, or if only one of them printed metrics or ranks."""
        decisive = {aspect.name: aspect.verdict for aspect in self.aspects if aspect.decides}
        if "different" in decisive.values():
            return "different"
        metrics = {aspect.verdict for aspect in self.aspects if aspect.name.startswith(_METRICS)}
        if metrics == {"not comparable"} or any(decisive[name] == "not comparable" for name in _REQUIRED):
            return "not comparable"
        return "within tolerance" if "within tolerance" in decisive.values() else "equal"

    @property
    def unobserved(self) -> tuple[str, ...]:
        """The deciding aspects that could not be compared."""
        if self.verdict in ("different", "not comparable"):
            return ()
        return tuple(one.name for one in self.aspects if one.decides and one.verdict in ("not seen", "not comparable"))

    @property
    def is_acceptable(self) -> bool:
        """Whether the runs trained the same; for different numbers of nodes, whether their process groups are equal."""
        if self.verdict != "not comparable":
            return self.verdict != "different"
        is_shrunk = any("nodes" in run.changed for run in (self.original, self.successor))
        return is_shrunk and any(aspect.name == "process group" and aspect.verdict == "equal" for aspect in self.aspects)


_METRICS = ("first steps of ", "final ")
_REQUIRED = ("status", "world size", "process group")
_PRINT_RANKS = "have it print rank=R world_size=N"


def compared(original: Run, successor: Run, tolerance: Tolerance) -> Comparison:
    """Compares two records of runs. Pure."""
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
    shown = _ending(original), _ending(successor)
    if original.uid and original.uid == successor.uid:
        why = f"both are the same run of {original.title}: name the v1 job and the TrainJob converted from it"
        return Aspect("status", "not comparable", *shown, why)
    if not successor.is_finished:
        return Aspect("status", "not comparable", *shown, f"{successor.title} is {successor.state}: wait until it has finished")
    failed = successor.message if successor.state == "Failed" else ""
    if original.state == successor.state == "Failed":
        why = f"both failed ({original.message} / {successor.message}): compare runs that succeed"
        return Aspect("status", "not comparable", *shown, why)
    if original.is_finished:
        return _same("status", *shown, failed)
    if original.state == "Suspended" and original.ran and not original.moved:
        why = f"{original.title} was suspended while it ran: compare with what was kept (--plan and its PLAN.runs, --baseline)"
        return Aspect("status", "not comparable", *shown, why)
    if not original.moved and original.ran:
        return Aspect("status", "not comparable", *shown, f"{original.title} is {original.state}: wait until it has finished")
    if failed or successor.state == "Failed":
        return Aspect("status", "different", *shown, failed)
    why = "its TrainJob went on with it" if original.moved else "it never ran"
    return Aspect("status", "not seen", *shown, why)


def _ending(run: Run) -> str:
    return f"{run.state}, then moved" if run.moved else run.state if run.ran else "never ran"


def _integrity(original: Run, successor: Run) -> Iterator[Aspect]:
    one, other = grouping(original), grouping(successor)
    normal, missing = _silence(original, successor, bool(one.world_sizes), bool(other.world_sizes), "its rank and world size")
    verdict: AspectVerdict = "not comparable" if missing else "not seen"
    why = f"{missing}; {_PRINT_RANKS}" if missing else f"{normal}; {_PRINT_RANKS}" if normal else ""
    on_purpose = _of_nodes(original, successor)
    shown = one.shown_world_size, other.shown_world_size
    if on_purpose:
        yield Aspect("world size", "not comparable", *shown, on_purpose)
    else:
        yield Aspect("world size", verdict, *shown, why) if why else _same("world size", *shown)
    shown = one.shown_ranks, other.shown_ranks
    if on_purpose or why or not (one.ranks and other.ranks):
        yield Aspect("ranks", "not seen", *shown, on_purpose or why or "no rank was printed")
    elif one.is_complete != other.is_complete and (one.groups, other.groups) == (1, 1):
        yield Aspect("ranks", "not seen", *shown, "in one run some ranks printed nothing")
    else:
        yield _same("ranks", *shown)
    shown = one.shown_groups, other.shown_groups
    if (other.groups or 1) > 1 and one.groups in (None, 1):
        yield Aspect("process group", "different", *shown, f"its {other.groups} groups each train a model of their own")
    elif one.groups is None or other.groups is None:
        yield Aspect("process group", verdict, *shown, why or "the printed ranks do not show it")
    else:
        yield _same("process group", *shown)


def _silence(original: Run, successor: Run, original_printed: bool, successor_printed: bool, what: str) -> tuple[str, str]:
    """Why something that programs print was not observed: the first text if that is normal, the second if one run should have
    printed it because the other did. Both are empty if both printed it."""
    if original_printed and successor_printed:
        return "", ""
    if not original_printed and not successor_printed:
        return f"neither printed {what}", ""
    if not original_printed and (original.moved or _is_past(original)):
        silence = (
            "printed nothing before it was moved" if original.moved else "has no logs any more" if original.ran else "never ran"
        )
        return f"{original.title} {silence}", ""
    silent, other = (original, successor) if successor_printed else (successor, original)
    return "", f"{other.title} printed {what}, {silent.title} did not"


def _is_past(run: Run) -> bool:
    """Whether nothing more can be observed of a run: it never ran, or its pods are deleted."""
    return not run.pods and not run.series and not run.processes


def _of_nodes(original: Run, successor: Run) -> str:
    """Why numbers of pods and ranks differ intentionally; empty if they should not."""
    run = next((run for run in (original, successor) if "nodes" in run.changed), None)
    return f"{run.title} ran on {run.changed['nodes']} nodes on purpose" if run else ""


def _pods(original: Run, successor: Run) -> Aspect:
    one, other = _requested(original), _requested(successor)
    shown = str(len(one)), str(len(other))
    if why := _of_nodes(original, successor) or _unknown(original, one) or _unknown(successor, other):
        return Aspect("pods", "not seen", *shown, why)
    return _same("pods", *shown)._replace(why=_why_from_job(original, successor))


def _resources(original: Run, successor: Run) -> Aspect:
    asked = _requested(original), _requested(successor)
    one, other = map(_totals, asked)
    if original.gone or not original.pods:
        # The cluster may have added requests to existing pods.
        other = {name: amount for name, amount in other.items() if name in one}
    shown = _shown_totals(one), _shown_totals(other)
    if why := _of_nodes(original, successor) or _unknown(original, asked[0]) or _unknown(successor, asked[1]):
        return Aspect("resources", "not seen", *shown, why)
    verdict: Verdict = "equal" if one == other else "different"
    return Aspect("resources", verdict, *shown, _why_from_job(original, successor))


def _requested(run: Run) -> Sequence[Mapping[str, str]]:
    """The resource requests of each pod, or, if pods are deleted, those that the job specifies."""
    return run.planned if run.gone or not run.pods else [pod.requests for pod in run.pods]


def _unknown(run: Run, asked_for: Sequence[Mapping[str, str]]) -> str:
    return "" if asked_for else f"pods of {run.title} were deleted"


def _why_from_job(original: Run, successor: Run) -> str:
    """Why the values of a run are those of its job, not of its pods; empty if all pods exist."""
    run = next((run for run in (original, successor) if run.gone or not run.pods), None)
    if run is None:
        return ""
    return f"as {run.title} says: " + (
        f"{count(run.gone, 'pod')} deleted" if run.gone else "no pod exists" if run.ran else "it never ran"
    )


def _restarts(original: Run, successor: Run) -> Aspect:
    one, other = (str(sum(pod.restarts for pod in run.pods)) for run in (original, successor))
    if why := _why_from_job(original, successor):
        return Aspect("restarts", "not seen", one, other, why, decides=False)
    return _same("restarts", one, other)._replace(decides=False)


def _totals(pods: Sequence[Mapping[str, str]]) -> dict[str, float]:
    amounts: dict[str, float] = {}
    for requests in pods:
        for name, quantity in requests.items():
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
            yield Aspect(part.name, "not seen" if original.moved and not reason else "not comparable", *shown, why)
            continue
        if part.mismatch:
            yield Aspect(part.name, "different", *shown, part.mismatch)
            continue
        outside = [pair for pair in part.pairs if not pair.is_equal and not (pair.is_finite and tolerance.holds(*pair.values))]
        if outside:
            worst = outside[0]
            yield Aspect(part.name, "different", *shown, f"{worst.where}: {worst.shown}, {worst.deviation}")
        elif not any(pair.is_finite for pair in part.pairs):
            yield Aspect(part.name, "not comparable", *shown, "no value is a finite number: compare runs that train")
        elif all(pair.is_equal for pair in part.pairs):
            yield Aspect(part.name, "equal", *shown)
        else:
            largest = max(part.pairs, key=lambda pair: abs(pair.values[0] - pair.values[1]) if pair.is_finite else 0.0)
            yield Aspect(part.name, "within tolerance", *shown, f"at most {largest.deviation}, {largest.where}")
    if not found:
        yield _without_metrics(original, successor)
        return
    for name, ranks in missing_ranks(original, successor):
        yield from _missing_ranks(name, *ranks, original, successor)
    names = [[series.name for series in run.series if series.name != RATE] for run in (original, successor)]
    alone = [[name for name in dict.fromkeys(ours) if name not in theirs] for ours, theirs in (names, names[::-1])]
    if any(alone):
        shown = ", ".join(alone[0]), ", ".join(alone[1])
        yield Aspect("other metrics", "not seen", *shown, "only one run reports them", decides=False)


def _missing_ranks(
    name: str, only_original: set[int], only_successor: set[int], original: Run, successor: Run
) -> Iterator[Aspect]:
    """That some ranks report a metric in one run only. It differs where they printed something else there; that ranks printed
    nothing while others did is what the aspect `ranks` is about."""
    title = f"ranks that report {name}"
    shown = tuple(f"also {_numbered(ranks)}" if ranks else "" for ranks in (only_original, only_successor))
    for run, ranks in ((successor, only_original), (original, only_successor)):
        printed = {process.rank for process in run.processes}
        if not ranks or (printed and not ranks <= printed):
            continue
        if why := _of_nodes(original, successor):
            yield Aspect(title, "not seen", shown[0], shown[1], why)
        elif run.gone or run.moved or not printed:
            yield Aspect(
                title, "not seen", shown[0], shown[1], f"{_numbered(ranks)} of {run.title} printed none, or its log was deleted"
            )
        else:
            yield Aspect(title, "different", shown[0], shown[1], f"in {run.title} they report none")


def _numbered(ranks: set[int]) -> str:
    return f"{'rank' if len(ranks) == 1 else 'ranks'} {', '.join(map(str, sorted(ranks)))}"


def _without_metrics(original: Run, successor: Run) -> Aspect:
    if original.series and successor.series:
        return Aspect("final metrics", "not comparable", "", "", "they have no metric in common; choose one with --metric")
    normal, missing = _silence(original, successor, bool(original.series), bool(successor.series), "a metric that is known")
    verdict: AspectVerdict = "not comparable" if missing else "not seen"
    return Aspect("final metrics", verdict, "", "", f"{missing or normal}; name one with --metric")


def _incomparable(original: Run, successor: Run) -> str:
    """Why no metric of the runs can be compared; empty if they can."""
    if why := _of_nodes(original, successor):
        return f"{why}: each step uses different data"
    if original.seed and successor.seed and original.seed != successor.seed:
        return f"their seeds differ: {original.seed} and {successor.seed}; run both with one"
    return ""


class _Stretch(NamedTuple):
    rate: float
    seconds: float
    unit: str


def _throughput(original: Run, successor: Run, tolerance: Tolerance) -> Aspect:
    one, other = _stretches(original, successor)
    if one is None or other is None:
        return Aspect("throughput", "not seen", "", "", "the logs do not say when steps were done")
    shown = f"{one.rate:.4g} {one.unit}", f"{other.rate:.4g} {other.unit}"
    if min(one.seconds, other.seconds) < MEASURABLE_SECONDS:
        why = f"measured over {min(one.seconds, other.seconds):.1f} s; {MEASURABLE_SECONDS:.0f} s are needed"
        return Aspect("throughput", "not seen", *shown, why)
    if why := _of_nodes(original, successor) or ("" if one.rate else "the original's speed is printed as 0"):
        return Aspect("throughput", "not seen", *shown, why)
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


def _stretch(series: Series, other: Series) -> _Stretch | None:
    common = {point.at for point in series.points} & {point.at for point in other.points}
    timed = [point for point in series.points if point.at in common and point.time is not None and point.value is not None]
    if len(timed) < 2:
        return None
    seconds = (timed[-1].time or 0.0) - (timed[0].time or 0.0)
    if series.name == RATE:
        # The first value includes the warm-up.
        values = [point.value or 0.0 for point in timed[1:]]
        return _Stretch(sum(values) / len(values), seconds, "as printed")
    return _Stretch((len(timed) - 1) / seconds, seconds, "steps/s") if seconds > 0 else None


def _seconds(name: str, one: float | None, other: float | None, tolerance: Tolerance) -> Aspect:
    shown = tuple("unknown" if seconds is None else f"{seconds:.1f} s" for seconds in (one, other))
    if one is None or other is None:
        return Aspect(name, "not seen", shown[0], shown[1], "times are not known of both", decides=False)
    is_close = math.isclose(one, other, rel_tol=tolerance.throughput)
    return Aspect(name, "within tolerance" if is_close else "different", shown[0], shown[1], decides=False)


def _same(name: str, original: str, successor: str, why: str = "") -> Aspect:
    return Aspect(name, "equal" if original == successor else "different", original, successor, why)
