"""Checkpoints that jobs made from programs have saved: directories `step-N`, complete when they have a `.metadata`.

That is how torch.distributed.checkpoint ends a save, and what examples/recipes/lm.py goes by.
"""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime
from pathlib import Path

from shunter.api.meta import Struct
from shunter.api.resources import TRAIN_JOBS
from shunter.errors import InputError
from shunter.kube.client import Client
from shunter.launch.marks import RESUMED
from shunter.launch.options import LaunchOptions
from shunter.operator.overview import overview

COMPLETE = ".metadata"
_STEP = re.compile(r"step-(\d+)")


class SavedStep(Struct, frozen=True):
    """One checkpoint. `size` is in bytes; `saved` is when its newest file was written."""

    step: int
    size: int
    saved: datetime
    is_complete: bool


def saved_steps(directory: Path) -> list[SavedStep]:
    """The checkpoints of one job, the newest step first; none where there is no such directory."""
    if not directory.is_dir():
        return []
    steps = [_saved_step(int(match[1]), entry) for entry in directory.iterdir() if (match := _STEP.fullmatch(entry.name))]
    return sorted((step for step in steps if step is not None), key=lambda step: -step.step)


def _saved_step(step: int, directory: Path) -> SavedStep | None:
    """None for what is gone meanwhile: programs remove old checkpoints."""
    try:
        files = [Path(place, name).stat() for place, _, names in os.walk(directory) for name in names]
        newest = max((file.st_mtime for file in files), default=directory.stat().st_mtime)
        size, is_complete = sum(file.st_size for file in files), (directory / COMPLETE).exists()
    except FileNotFoundError:
        return None
    return SavedStep(step, size, datetime.fromtimestamp(newest, UTC), is_complete)


async def require_resumable(client: Client, namespace: str, options: LaunchOptions) -> None:
    """InputError where the place of the checkpoints of the job to resume is not said, where it or another that resumed it still
    trains, as two would write the same ones, and where it is known that it has saved none: in a directory of this machine."""
    if not options.resume:
        return
    place, option = options.checkpoints, f"--resume {options.resume}"
    if place is None:
        raise InputError(f"{option}: it is not said where its checkpoints are.", "Name their place: --checkpoints CLAIM or URL.")
    for job in (await client.list(TRAIN_JOBS, namespace)).items:
        metadata, row = job["metadata"], overview({"kind": TRAIN_JOBS.kind, **job})
        writes_there = options.resume in (metadata["name"], (metadata.get("annotations") or {}).get(RESUMED))
        if writes_there and not row.is_finished:
            raise InputError(
                f"{option}: TrainJob {namespace}/{row.name} is {row.state}, and two jobs would write the same checkpoints.",
                f"Wait until it has ended, or end it: shunter delete {row.name} -n {namespace}",
            )
    if place.directory and not any(step.is_complete for step in saved_steps(Path(place.directory) / options.resume)):
        remedy = "See which jobs have some: shunter checkpoints"
        raise InputError(f"{option}: there is no complete checkpoint in {Path(place.directory) / options.resume}.", remedy)
