"""Which of many ranks differ from the others, and how. Pure.

A rank differs in its state, in how often it was restarted, in how fast its steps are, in how long it has reported nothing, and
in a metric that is no finite number. What all have in common is the job's state, not a difference.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from statistics import median

from shunter.api.meta import Struct
from shunter.jobs.ages import age
from shunter.jobs.metrics import Series, is_loss, leading, seconds_a_step
from shunter.jobs.rank_states import STATES, RankState

SLOW = 1.15
"""How many times the median step time of all ranks a rank takes at least to be called slow."""
LEAST_STEPS = 10
"""Steps over which a pace is measured at least."""
PACE_POINTS = 50
"""Reports over which it is measured at most: the pace of now, not of the whole training."""
SILENT_SECONDS = 60.0
SILENT_REPORTS = 10
"""A rank counts as silent if the others have continued for so many seconds, and for the time of so many of its reports."""


class Pace(Struct, frozen=True):
    """Progress and speed of one rank, from its reports."""

    step: float | None = None
    """Its last step."""
    last: float | None = None
    """The time of its last report, in seconds since 1970."""
    seconds_a_step: float | None = None
    seconds_a_report: float | None = None
    not_finite: str = ""
    """The metric whose last value is not finite."""


class Difference(Struct, frozen=True):
    """One rank that differs."""

    rank: int
    text: str
    """How: `Failed: OOMKilled, exit code 137 (SIGKILL)`, `slow (steps take 18 % longer)`, `no report for 90s`; several are
    separated by commas."""


def paces(logged: Mapping[int, Sequence[Series]], followed: Collection[int]) -> dict[int, Pace]:
    """The pace of each rank in `followed` that logs metrics, by its leading metric. `logged` are the series in the log of each
    rank's pod (of all its processes). A rank whose log is no longer read is not silent."""
    return {rank: pace for rank, series in logged.items() if rank in followed and (pace := _pace(series)) is not None}


def differing_ranks(states: Sequence[RankState], paces: Mapping[int, Pace]) -> list[Difference]:
    """The ranks that differ, the worst state first, then by rank. Without `paces` (no rank logs metrics), only by their pods.
    Only running ranks can be slow or silent."""
    found: dict[int, list[str]] = {}
    over = {one.rank for one in states if one.state != "Running"}
    running = {rank: pace for rank, pace in paces.items() if rank not in over}
    for part in (_by_state(states), _by_restarts(states), _by_pace(running), _by_silence(running), _by_value(paces)):
        for rank, text in part.items():
            found.setdefault(rank, []).append(text)
    order = {one.rank: STATES.index(one.state) for one in states}
    ranks = sorted(found, key=lambda rank: (order.get(rank, len(STATES)), rank))
    return [Difference(rank, ", ".join(found[rank])) for rank in ranks]


def _pace(series: Sequence[Series]) -> Pace | None:
    first = leading(series)
    if first is None:
        return None
    points = first.points[-PACE_POINTS:]
    has_steps = not first.is_counted and len(points[-1].at) == 1
    times = [point.time for point in points if point.time is not None]
    diverged = next((one.name for one in series if is_loss(one.name) and one.points and one.points[-1].value is None), "")
    is_long = has_steps and points[-1].at[0] - points[0].at[0] >= LEAST_STEPS
    return Pace(
        step=points[-1].at[0] if has_steps else None,
        last=max((one.points[-1].time or 0.0 for one in series if one.points), default=0.0) or None,
        seconds_a_step=seconds_a_step(points) if is_long else None,
        seconds_a_report=(times[-1] - times[0]) / (len(times) - 1) if len(times) > 1 else None,
        not_finite=diverged,
    )


def _by_state(states: Sequence[RankState]) -> dict[int, str]:
    """Ranks that are not in the most common state; if two are equally common, the better one counts."""
    counts = Counter(one.state for one in states)
    common = max(counts, key=lambda state: (counts[state], STATES.index(state)), default=None)
    return {one.rank: f"{one.state}: {one.reason}" if one.reason else one.state for one in states if one.state != common}


def _by_restarts(states: Sequence[RankState]) -> dict[int, str]:
    """Ranks that were restarted more often than the median."""
    if not states:
        return {}
    usual = median(one.restarts for one in states)
    found = {}
    for one in states:
        if one.restarts > usual:
            times = "restarted" if one.restarts == 1 else f"restarted {one.restarts} times"
            has_reason = one.state in ("Failed", "Restarting") or not one.last_failure
            found[one.rank] = times if has_reason else f"{times} (last: {one.last_failure})"
    return found


def _by_pace(paces: Mapping[int, Pace]) -> dict[int, str]:
    known = {rank: pace.seconds_a_step for rank, pace in paces.items() if pace.seconds_a_step}
    if len(known) < 2:
        return {}
    usual = median(known.values())
    slow = {rank: 100 * (seconds / usual - 1) for rank, seconds in known.items() if seconds > SLOW * usual}
    return {rank: f"slow (steps take {percent:.0f} % longer)" for rank, percent in slow.items()}


def _by_silence(paces: Mapping[int, Pace]) -> dict[int, str]:
    """Compared with the last report of any rank, not with a clock: where all are silent none differs."""
    times = {rank: pace.last for rank, pace in paces.items() if pace.last is not None}
    newest = max(times.values(), default=0.0)
    found = {}
    for rank, last in times.items():
        every = paces[rank].seconds_a_report or 0.0
        if newest - last > max(SILENT_SECONDS, SILENT_REPORTS * every):
            since, now = (datetime.fromtimestamp(at, UTC) for at in (last, newest))
            found[rank] = f"no report for {age(since, now)}"
    return found


def _by_value(paces: Mapping[int, Pace]) -> dict[int, str]:
    diverged = {rank: pace.not_finite for rank, pace in paces.items() if pace.not_finite}
    return {} if len(diverged) == len(paces) else {rank: f"{name} is not finite" for rank, name in diverged.items()}
