"""Progress as text: the cells of `jobs` and the lines of `describe`. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from shunter.api.formats.counts import count
from shunter.api.meta import Json
from shunter.jobs.ages import age
from shunter.operator.training_progress import Checkpoint, Progress, warnings


class ProgressCells(NamedTuple):
    """The cells of a row; each is empty if unknown."""

    step: str = ""
    loss: str = ""
    remaining: str = ""
    checkpoint: str = ""


def cells(found: Progress | None, now: datetime, *, is_running: bool) -> ProgressCells:
    """`120/300`, `1.26`, `41s`, `100 (12s ago)`. An old report of a running program is shown with its age, and
    what was read in its log is marked. The remaining time is shown only for a running job."""
    if found is None:
        return ProgressCells()
    notes = ["log"] if found.source == "log" else []
    if is_running and found.is_stale(now) and found.reported:
        notes.append(f"{age(found.reported, now)} ago")
    step = f"{_step(found)} ({', '.join(notes)})".strip() if notes else _step(found)
    remaining = found.remaining(now) if is_running else None
    return ProgressCells(
        step=step,
        loss="" if found.loss is None else f"{found.loss:.4g}",
        remaining="" if remaining is None else age(now - remaining, now),
        checkpoint=_checkpoint(found.checkpoint, now),
    )


def lines(found: Progress, pods: Sequence[Json], now: datetime, *, is_running: bool) -> Iterator[str]:
    """The lines of `describe`: the progress, the newest checkpoint, and warnings about work that a running job may lose."""
    parts = [position] if (position := position_text(found)) else []
    parts += [f"{found.percentage} %"] if found.percentage is not None else []
    parts += [f"loss {found.loss:.6g}"] if found.loss is not None else []
    remaining = found.remaining(now) if is_running else None
    parts += [f"{age(now - remaining, now)} left"] if remaining is not None else []
    source = "reported" if found.source == "report" else "read in its log, written"
    parts += [f"{source} {age(found.reported, now)} ago"] if found.reported else []
    if parts:
        yield f"  Progress {', '.join(parts)}"
    if (checkpoint := found.checkpoint) is not None:
        saved = f", saved {age(checkpoint.saved, now)} ago" if checkpoint.saved else ""
        duration = f" in {checkpoint.seconds:.3g} s" if checkpoint.seconds is not None else ""
        yield f"  Checkpoint of step {checkpoint.step}{saved}{duration}"
    if is_running:
        yield from (f"  Warning  {warning}" for warning in warnings(found, pods, now))


def stop_position(found: Progress | None) -> str:
    """`stopped at step 402, which is saved`: where a suspended job will continue. Empty if its progress is unknown."""
    if found is None:
        return ""
    saved = found.checkpoint.step if found.checkpoint is not None else None
    if found.step is None:
        return "" if saved is None else f"its newest checkpoint is of step {saved}"
    if saved is None:
        return f"stopped after step {found.step}; no checkpoint of it is known"
    if saved >= found.step:
        return f"stopped at step {saved}, which is saved"
    lost = count(found.step - saved, "step")
    return f"stopped after step {found.step}; step {saved} is saved, so {lost} will be repeated"


def position_text(found: Progress) -> str:
    """`step 120/300`, `step 7 of epoch 2`, `epoch 3`; empty if the program says neither."""
    epoch = "" if found.epoch is None else f"epoch {found.epoch:g}"
    if found.step is None:
        return epoch
    of = f"/{found.steps}" if found.steps is not None else ""
    return f"step {found.step}{of}{epoch and f' of {epoch}'}"


def _step(found: Progress) -> str:
    return position_text(found).removeprefix("step ") or (f"{found.percentage}%" if found.percentage is not None else "")


def _checkpoint(found: Checkpoint | None, now: datetime) -> str:
    if found is None:
        return ""
    return f"{found.step} ({age(found.saved, now)} ago)" if found.saved else str(found.step)
