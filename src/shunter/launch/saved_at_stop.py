"""What a job that is stopped has saved: by its directory on this machine, by what its program wrote last, by what it reported.

Its objects tell that only while they are there, so a deletion reads them first.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from datetime import datetime

from shunter.api.meta import Json, Struct
from shunter.errors import InputError
from shunter.jobs.ages import age
from shunter.jobs.logs.checkpoints import saved_step
from shunter.jobs.training_pods import training_container, training_pods
from shunter.kube.client import Client
from shunter.kube.errors import ApiError
from shunter.kube.pods.log_reading import LogPart, followed_lines
from shunter.launch.checkpoints.location import CheckpointLocation, checkpoint_location, listing_command
from shunter.launch.checkpoints.saved import SavedStep, others_below, saved_steps
from shunter.operator.diagnosis import stop_words
from shunter.operator.training_progress import Checkpoint, progress

LOG_SECONDS = 2.0
"""How long the last lines of a pod that has ended are waited for."""


class StoppedCheckpoints(Struct, frozen=True):
    """What is known of the checkpoints of a job that was stopped."""

    place: CheckpointLocation | None = None
    steps: Sequence[SavedStep] = ()
    """In its directory on this machine, the newest first."""
    is_read: bool = False
    """Whether that directory is on this machine."""
    words: str = ""
    """What its program wrote of the stop: `stopped by SIGTERM, saved step 13`."""
    reported: Checkpoint | None = None
    other: str = ""
    """A file there that belongs to no checkpoint of a known form."""


def read_saved(job: Json, words: str, *, on_this_machine: bool) -> StoppedCheckpoints:
    """What is known now, of a job as it was last and the words of its program."""
    place = checkpoint_location(job)
    newest = progress(job)
    reported = newest.checkpoint if newest is not None else None
    if place is None or place.directory is None or not on_this_machine:
        return StoppedCheckpoints(place, words=words, reported=reported)
    try:
        steps = saved_steps(place.directory)
    except InputError:  # another user's
        return StoppedCheckpoints(place, words=words, reported=reported)
    other = others_below(place.directory)
    return StoppedCheckpoints(place, steps, is_read=True, words=words, reported=reported, other=other)


def stop_sentence(job: Json, saved: StoppedCheckpoints, asked: datetime) -> str:
    """`train: stopped, saved step 411`, by what is surest; empty where nothing says that the job saves anything. `asked` is when
    it received SIGTERM."""
    name, place = job["metadata"]["name"], saved.place
    complete = [step for step in saved.steps if step.is_complete]
    said = saved_step(saved.words)
    if complete and (complete[0].saved >= asked or complete[0].step == said):
        return f"{name}: stopped, saved step {complete[0].step}"
    if saved.words:
        text = f"stopped, saved step {said}" if said is not None else saved.words
        missing = f", but {place.title} has no such step" if said is not None and saved.is_read and place is not None else ""
        return f"{name}: {text} (according to its log{missing})"
    if complete:
        cut = [step.step for step in saved.steps if not step.is_complete and step.step > complete[0].step]
        more = f"; the save of step {cut[0]} was interrupted" if cut else ""
        return (
            f"{name}: stopped; its newest checkpoint is of step {complete[0].step}, {age(complete[0].saved, asked)} before{more}"
        )
    if saved.reported is not None:
        step, when = saved.reported.step, saved.reported.saved
        if when is not None and when >= asked:
            return f"{name}: stopped, saved step {step} (according to its report)"
        return f"{name}: stopped; the newest checkpoint that it reported is of step {step}"
    if saved.is_read and place is not None:
        if saved.other:
            return f"{name}: stopped; no checkpoint of a known form in {place.title}, which holds {saved.other}"
        return f"{name}: stopped; no checkpoint in {place.title}"
    if place is None:
        return ""
    hint = f": {listing_command(job, place)}" if place.is_url else ""
    return f"{name}: stopped; unknown whether it has saved, see {place.title}{hint}"


class StopLogReader:
    """Reads what the program of a job writes of its stop, in the log of its first rank, from now on."""

    def __init__(self, client: Client, job: Json, pods: Sequence[Json]) -> None:
        self._words = ""
        self._reading = [asyncio.create_task(self._read(client, pod)) for pod in training_pods(job, pods)[:1]]

    async def _read(self, client: Client, pod: Json) -> None:
        with contextlib.suppress(ApiError):
            async for line in followed_lines(client, pod, training_container(pod), LogPart(tail_lines=1)):
                self._words = stop_words([line]) or self._words

    async def end(self) -> str:
        """What was read, once the pods have ended; empty when the program said nothing of it."""
        if self._reading:
            await asyncio.wait(self._reading, timeout=LOG_SECONDS)
        self.close()
        return self._words

    def close(self) -> None:
        """Ends the reading."""
        for task in self._reading:
            task.cancel()
