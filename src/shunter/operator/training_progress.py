"""How far a training is, by what its program reports to the status server: `status.trainerStatus` of a TrainJob. Pure.

Metrics of these names are understood; others stay in the status as they are:

| metric              | value                                          |
|---------------------|------------------------------------------------|
| `step`, `steps`     | the last step that was done, of how many       |
| `loss`              | its loss                                       |
| `checkpoint.step`   | the step of the newest complete checkpoint     |
| `checkpoint.time`   | when that was complete, in seconds since 1970  |
| `checkpoint.seconds`| how long saving it took                        |
| `checkpoint.every`  | steps between two checkpoints                  |
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Literal

from shunter.api.meta import Json, Struct
from shunter.operator.overview import moment

STALE = timedelta(minutes=2)
"""A report that is older is shown with its age."""
SILENT = timedelta(minutes=10)
"""Without a report for so long a program may hang; a long evaluation or compilation takes less."""
MISSED_CHECKPOINTS = 3
"""So many are missing before it is reported: one may be under way, and one may have been skipped for it."""


class Checkpoint(Struct, frozen=True):
    """The newest complete checkpoint, as the program tells it. What it did not tell is None."""

    step: int
    saved: datetime | None = None
    seconds: float | None = None
    """How long the save took."""
    every: int | None = None
    """Steps between two checkpoints."""


class Progress(Struct, frozen=True):
    """The last report of a program. What it did not tell is None."""

    reported: datetime | None = None
    percentage: int | None = None
    remaining_seconds: int | None = None
    """From `reported` on."""
    step: int | None = None
    steps: int | None = None
    loss: float | None = None
    checkpoint: Checkpoint | None = None
    epoch: float | None = None
    """In which `step` is counted, where a log says so."""
    source: Literal["report", "log"] = "report"
    """Whether the program reported it to the status server, or it was read in its log, which may say it in words of its own."""

    @property
    def ends(self) -> datetime | None:
        """When it will be done, by the last report; None where that is not known, or would be after the year 9999."""
        return None if self.remaining_seconds is None else _later(self.reported, self.remaining_seconds)

    @property
    def stale_after(self) -> datetime | None:
        """When these values become stale unless the program reports again; None if the time of its last report is not known."""
        return _later(self.reported, STALE.total_seconds())

    def remaining(self, now: datetime) -> timedelta | None:
        """How long it will still take, by the last report."""
        return max(timedelta(), self.ends - now) if self.ends is not None else None

    def is_stale(self, now: datetime) -> bool:
        """Whether the last report is so old that it is shown with its age."""
        return self.stale_after is None or now > self.stale_after


def progress(job: Json) -> Progress | None:
    """What the program of a job of any kind last reported; None where it never did. Only TrainJobs have such a status."""
    status = job.get("status", {}).get("trainerStatus")
    if not status:
        return None
    metrics = reported_metrics(job)
    return Progress(
        reported=moment(status.get("lastUpdatedTime")),
        percentage=status.get("progressPercentage"),
        remaining_seconds=status.get("estimatedRemainingSeconds"),
        step=_whole(metrics, "step"),
        steps=_whole(metrics, "steps"),
        loss=metrics.get("loss"),
        checkpoint=_checkpoint(metrics),
    )


def reported_metrics(job: Json) -> dict[str, float]:
    """The last values that a job's program reported, by name, including NaN and infinity; what is not a number is left out."""
    found = {}
    for metric in (job.get("status", {}).get("trainerStatus") or {}).get("metrics") or ():
        with contextlib.suppress(ValueError):
            found[metric["name"]] = float(metric.get("value", ""))
    return found


def warnings(found: Progress, pods: Sequence[Json], now: datetime) -> list[str]:
    """What may cost work by the report of a running job, each with what follows."""
    checkpoint, warned = found.checkpoint, list[str]()
    if found.reported is not None and now - found.reported > SILENT:
        minutes = int((now - found.reported).total_seconds() // 60)
        reports = "its reports may not arrive" if found.source == "report" else "it may write of its progress less often"
        verb = "reported" if found.source == "report" else "written of its progress to its log"
        warned.append(f"its program has not {verb} for {minutes} minutes: it may hang, or {reports}")
    if checkpoint is None:
        return warned
    if checkpoint.every and found.step is not None and found.step - checkpoint.step > MISSED_CHECKPOINTS * checkpoint.every:
        warned.append(
            f"the newest checkpoint is of step {checkpoint.step}, {found.step - checkpoint.step} steps ago, "
            f"although one is saved every {checkpoint.every}: a restart would lose these steps: check its log for "
            f"the reason"
        )
    graces = [pod["spec"].get("terminationGracePeriodSeconds", 30) for pod in pods]
    if checkpoint.seconds is not None and graces and 2 * checkpoint.seconds > min(graces):
        warned.append(
            f"its last save took {checkpoint.seconds:g} s, more than half of its pods' grace period of {min(graces)} s: a "
            "preemption may kill it before it has saved, so give it a longer terminationGracePeriodSeconds"
        )
    return warned


def _later(moment: datetime | None, seconds: float) -> datetime | None:
    """None where the moment is not known, or no calendar has the sum."""
    if moment is None:
        return None
    try:
        return moment + timedelta(seconds=seconds)
    except OverflowError:
        return None


def _checkpoint(metrics: Mapping[str, float]) -> Checkpoint | None:
    step = _whole(metrics, "checkpoint.step")
    if step is None:
        return None
    seconds = _finite(metrics, "checkpoint.time")
    try:
        saved = None if seconds is None else datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        saved = None
    return Checkpoint(step, saved, _finite(metrics, "checkpoint.seconds"), _whole(metrics, "checkpoint.every"))


def _whole(metrics: Mapping[str, float], name: str) -> int | None:
    found = _finite(metrics, name)
    return None if found is None or not found.is_integer() else int(found)


def _finite(metrics: Mapping[str, float], name: str) -> float | None:
    found = metrics.get(name)
    return None if found is None or not math.isfinite(found) else found
