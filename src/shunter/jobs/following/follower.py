"""Follows one job to its end: conditions, warning events and the logs of all its containers."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Coroutine, Mapping, Sequence
from typing import NamedTuple

from shunter.api.core import COLD_START, container_statuses, is_shown_to_followers
from shunter.api.meta import Json
from shunter.api.resources import CORE_EVENTS, JOBSETS, PODS, Resource
from shunter.api.training.kinds import JOB_KINDS
from shunter.jobs.condition_sentences import sentence
from shunter.jobs.failures import READ_LINES
from shunter.jobs.following.buffered_notes import BufferedNotes
from shunter.jobs.following.display import Display
from shunter.jobs.following.last_pods import last_pods
from shunter.jobs.following.obstacle import Obstacle
from shunter.jobs.timeline import without_names
from shunter.kube.client import Client
from shunter.kube.errors import ApiError, ConnectionProblem
from shunter.kube.pods.log_reading import WHOLE, LogPart, followed_lines
from shunter.kube.watching import follow
from shunter.operator.causes import REASONS_COVERED_BY_CAUSES, STARTING_REASONS, Cause
from shunter.operator.diagnosis import disruption, recorded_failure
from shunter.operator.overview import is_finished, is_pod_of, is_v2, member, overview, pod_selector
from shunter.operator.restarts import is_jobset_of, restarts

DRAIN_SECONDS = 5.0
"""How long to wait, once the job is finished, for the last lines of containers that have ended."""
LAST_LOOK_SECONDS = 5.0
"""How long, beyond a deadline, the server has to answer what became of the job."""
OPERATOR_CONTAINERS = frozenset(name for kind in JOB_KINDS for name in kind.added_containers)


class JobEnd(NamedTuple):
    """How a followed job ended: the job (None when it was deleted) and the pods of its last try, as they were last. `written` is
    what their containers wrote last, by the names of pod and container, as far as it was followed."""

    job: Json | None
    pods: list[Json]
    written: Mapping[tuple[str, str], Sequence[str]] = {}


class JobFollower:
    """Follows one job by watches; only what keeps it from training is read again at intervals."""

    def __init__(
        self,
        client: Client,
        resource: Resource,
        job: Json,
        display: Display,
        *,
        part: LogPart = WHOLE,
        begun: frozenset[tuple[str, str, int]] = frozenset(),
    ) -> None:
        """Of the logs of containers in `begun` (`log_options.attempts`) only a part is shown, of later ones everything."""
        self._client = client
        self._resource = resource
        self._job = job
        self._namespace: str = job["metadata"]["namespace"]
        self._part = part
        self._begun = begun
        self._display = BufferedNotes(display)
        self._obstacle = Obstacle(client, self._observed, self._display)
        self._is_deleted = False
        self._pods: dict[str, Json] = {}
        self._gone: set[str] = set()
        """Those of the pods that were deleted, as by a suspension."""
        self._phases: dict[str, tuple[str, str]] = {}
        """Of the pods that are there: label and phase. Kept, as all of a thousand are shown whenever one changes."""
        self._disrupted: set[str] = set()
        self._tails: dict[tuple[str, str, int], asyncio.Task[None]] = {}
        self._written: dict[tuple[str, str], deque[str]] = {}
        self._conditions: set[tuple[str, str, str]] = set()
        self._shown: set[str] = set()
        """Warnings that were shown, without the names of pods."""
        self._events: dict[str, Json] = {}
        """Events about the job and what is named like it, by their own uid: pods may be told of later, by another watch."""
        self._refusals: set[tuple[type[ApiError], str]] = set()
        self._silences: set[bool] = set()
        """Whether it was no answer, or an error, that was told since the server answered last."""
        self._broken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Gets the error of a part that cannot go on for a reason that is not the server's."""

    async def run(self) -> JobEnd:
        """Returns when the job has succeeded, failed or gone, and the logs of its ended containers are shown."""
        finished = asyncio.create_task(self._until_finished())
        parts = [self._watch_pods(), self._watch_events(), self._obstacle.run()]
        watches = [self._start(part) for part in (*parts, *([self._watch_jobset()] if is_v2(self._job) else []))]
        try:
            await asyncio.wait((finished, self._broken), return_when=asyncio.FIRST_COMPLETED)
            if self._broken.done():
                self._broken.result()
            await finished
            await self._drain()
            return self._end()
        finally:
            tasks = [finished, *watches, *self._tails.values()]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self._display.close()

    async def run_until(self, deadline: float | None) -> JobEnd | None:
        """As `run`, but returns at the deadline (on the loop's clock): None if the job goes on then. A job has also ended whose
        last logs were still being read, or of which the server says so when it is asked once more."""
        try:
            async with asyncio.timeout_at(deadline):
                return await self.run()
        except TimeoutError:
            if not self._has_ended:
                with contextlib.suppress(ApiError, TimeoutError):
                    async with asyncio.timeout(LAST_LOOK_SECONDS):
                        await self._look_once()
            return self._end() if self._has_ended else None

    @property
    def _has_ended(self) -> bool:
        return self._is_deleted or is_finished(self._job)

    def _end(self) -> JobEnd:
        pods = last_pods(self._job, list(self._pods.values()), self._gone)
        return JobEnd(None if self._is_deleted else self._job, pods, self._written)

    async def _look_once(self) -> None:
        """Reads the job, and its pods if it has ended."""
        metadata = self._job["metadata"]
        page = await self._client.list(self._resource, self._namespace, field_selector=f"metadata.name={metadata['name']}")
        found = next((one for one in page.items if one["metadata"]["uid"] == metadata["uid"]), None)
        if found is None:
            self._is_deleted = True
            return
        self._job = self._resource.typed(found)
        if is_finished(self._job):
            await self._read_pods()

    def _start(self, part: Coroutine[None, None, None]) -> asyncio.Task[None]:
        """Starts a task. If the server refuses it something, that is shown and the others continue; any other error ends
        `run`."""
        task = asyncio.create_task(part)
        task.add_done_callback(self._handle_error)
        return task

    def _handle_error(self, task: asyncio.Task[None]) -> None:
        error = None if task.cancelled() else task.exception()
        if isinstance(error, ApiError):
            self._show_refusal(error)
        elif error is not None and not self._broken.done():
            self._broken.set_exception(error)

    def _show_refusal(self, error: ApiError) -> None:
        """Shown once for each kind of object: refusals for the logs of many pods differ only in the name."""
        kind = (type(error), error.status.details.kind if error.status.details else "")
        if kind not in self._refusals:
            self._refusals.add(kind)
            self._display.trouble(f"not all of it is shown: {error.message}")

    def _show_silence(self, problem: ApiError) -> None:
        """Shown once for no answer and once for errors."""
        is_away = isinstance(problem, ConnectionProblem)
        if is_away not in self._silences:
            self._silences.add(is_away)
            self._display.trouble(f"{problem.message} Trying again.")

    async def _until_finished(self) -> None:
        name, uid = self._job["metadata"]["name"], self._job["metadata"]["uid"]
        changes = follow(
            self._client,
            self._resource,
            self._namespace,
            field_selector=f"metadata.name={name}",
            known=[self._job],
            on_listed=self._silences.clear,
            on_silence=self._show_silence,
        )
        async with contextlib.aclosing(changes):
            async for seen in changes:
                if seen.object["metadata"]["uid"] != uid:
                    continue
                if seen.gone:
                    self._display.note(f"{self._resource.kind} {name} was deleted")
                    self._is_deleted = True
                    return
                self._job = seen.object
                self._show_conditions()
                self._obstacle.look_soon()
                self._show_progress()
                if is_finished(self._job):
                    return
        raise AssertionError("following never ends by itself")

    def _show_conditions(self) -> None:
        for condition in self._job.get("status", {}).get("conditions", []):
            mark = (condition["type"], condition["status"], condition.get("reason", ""))
            if mark not in self._conditions:
                self._conditions.add(mark)
                if text := sentence(self._job, condition):
                    self._display.note(text)

    def _show_progress(self) -> None:
        self._display.progress(overview(self._job), dict(self._phases.values()))

    async def _watch_pods(self) -> None:
        async for seen in follow(self._client, PODS, self._namespace, label_selector=pod_selector(self._job)):
            if not is_pod_of(self._job, seen.object):
                continue
            uid = seen.object["metadata"]["uid"]
            is_new = uid not in self._pods
            self._pods[uid] = seen.object
            if seen.gone:
                self._gone.add(uid)
                self._phases.pop(uid, None)
            else:
                phase = seen.object.get("status", {}).get("phase", "Pending")
                self._phases[uid] = member(self._job, seen.object).label, phase
            if is_new:
                for event in [event for event in self._events.values() if event.get("involvedObject", {}).get("uid") == uid]:
                    self._show_warning(event)
            self._tail_started_containers(seen.object)
            self._show_disruption(seen.object)
            self._obstacle.look_soon()
            self._show_progress()

    def _tail_started_containers(self, pod: Json) -> None:
        for container in container_statuses(pod):
            state = container.get("state", {})
            key = (pod["metadata"]["uid"], container["name"], container.get("restartCount", 0))
            has_started = "running" in state or "terminated" in state
            if has_started and key not in self._tails and container["name"] not in OPERATOR_CONTAINERS:
                part = self._part if key in self._begun else self._part.later()
                self._tails[key] = self._start(self._tail(pod, container["name"], part))

    def _show_disruption(self, pod: Json) -> None:
        """Once for a pod. Of jobs of kubeflow.org/v1 the operator says it by an event."""
        uid = pod["metadata"]["uid"]
        if is_v2(self._job) and uid not in self._disrupted and (why := disruption(pod)) is not None:
            self._disrupted.add(uid)
            self._display.note(f"{member(self._job, pod).label} is deleted: {why}")

    async def _tail(self, pod: Json, container: str, part: LogPart) -> None:
        who = member(self._job, pod)
        written = self._written.setdefault((pod["metadata"]["name"], container), deque(maxlen=READ_LINES))
        async for line in followed_lines(self._client, pod, container, part):
            written.append(line)
            self._display.log(who, container, line)

    async def _watch_jobset(self) -> None:
        """Tells each restart of the whole group from now on."""
        name, made = self._job["metadata"]["name"], None
        async for seen in follow(self._client, JOBSETS, self._namespace, field_selector=f"metadata.name={name}"):
            if seen.gone or not is_jobset_of(self._job, seen.object):
                continue
            counts = restarts(seen.object)
            if counts is not None and made is not None and counts.made > made:
                self._display.note(f"all pods are recreated; restarts: {counts}")
            made = counts.made if counts is not None else 0

    async def _watch_events(self) -> None:
        async for seen in follow(self._client, CORE_EVENTS, self._namespace):
            if not seen.gone and self._may_concern_job(seen.object.get("involvedObject", {})):
                self._add_event(seen.object)

    def _may_concern_job(self, about: Json) -> bool:
        """Whether an object may be the job, a pod of it, or its JobSet or a Job of that: their names begin like the job's."""
        return str(about.get("name", "")).startswith(self._job["metadata"]["name"])

    def _add_event(self, event: Json) -> None:
        self._events[event["metadata"]["uid"]] = event
        self._obstacle.look_soon()
        self._show_warning(event)

    def _show_warning(self, event: Json) -> None:
        """A warning about the job or its pods, or that one started cold, once for all pods that have it in common; what a cause
        may say better waits for that."""
        about = event.get("involvedObject", {})
        uid = about.get("uid", "")
        is_shown = is_shown_to_followers(event.get("type", ""), event.get("reason", ""))
        if not is_shown or (uid != self._job["metadata"]["uid"] and uid not in self._pods):
            return
        # The last words that it may keep were shown as logs.
        message, _ = recorded_failure(event)
        text = f"{event.get('reason')}: {message}"
        mark = without_names(self._job, text)
        if mark in self._shown:
            return
        self._shown.add(mark)
        told = f"{about.get('kind')} {about.get('name')}: {text}"
        if event.get("reason") in STARTING_REASONS:
            return
        if event.get("reason") in REASONS_COVERED_BY_CAUSES:
            self._obstacle.warn_unless_cause(told)
        else:
            self._display.note(told)

    def _observed(self) -> tuple[Json, list[Json], list[Json]]:
        present = [pod for uid, pod in self._pods.items() if uid not in self._gone]
        return self._job, present, list(self._events.values())

    @property
    def cause(self) -> Cause | None:
        """What keeps the job from training, as it was seen last."""
        return self._obstacle.cause

    @property
    def job(self) -> Json:
        """The job as it was seen last."""
        return self._job

    async def _read_pods(self) -> list[Json]:
        page = await self._client.list(PODS, self._namespace, label_selector=pod_selector(self._job))
        found = [pod for pod in page.items if is_pod_of(self._job, pod)]
        self._pods |= {pod["metadata"]["uid"]: pod for pod in found}
        return found

    async def _drain(self) -> None:
        """Waits for the logs of containers that have ended; those still running are cut off."""
        with contextlib.suppress(ApiError):
            for pod in await self._read_pods():
                self._tail_started_containers(pod)
            for shown in ("type=Warning", f"reason={COLD_START}"):
                for event in (await self._client.list(CORE_EVENTS, self._namespace, field_selector=shown)).items:
                    if self._may_concern_job(event.get("involvedObject", {})):
                        self._add_event(event)
        ended = [task for (uid, container, _), task in self._tails.items() if has_ended(self._pods[uid], container)]
        if ended:
            await asyncio.wait(ended, timeout=DRAIN_SECONDS)


def has_ended(pod: Json, container: str) -> bool:
    """Whether a container, or init container, is terminated at present; False also for one without a status."""
    for entry in container_statuses(pod):
        if entry["name"] == container:
            return "terminated" in entry.get("state", {})
    return False
