"""Follows one job to its end: conditions, warning events and the logs of all its containers."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from typing import NamedTuple

from shunter.api.core import COLD_START, container_statuses, is_shown_to_followers
from shunter.api.meta import Json
from shunter.api.resources import CORE_EVENTS, JOBSETS, PODS, Resource
from shunter.cancelling import cancelled
from shunter.jobs.condition_sentences import sentence
from shunter.jobs.evidence import evidence_of
from shunter.jobs.failures import READ_LINES
from shunter.jobs.following.buffered_notes import BufferedNotes
from shunter.jobs.following.last_pods import last_pods
from shunter.jobs.following.obstacle import Obstacle
from shunter.jobs.following.pipe_display import Display
from shunter.jobs.pods_up import PodUp, pod_up, requested_ranks, up_of, up_text
from shunter.jobs.timeline import without_names
from shunter.jobs.training_pods import ADDED_CONTAINERS, is_added_without_failure
from shunter.kube.client import Client
from shunter.kube.errors import ApiError, ConnectionProblem
from shunter.kube.pods.log_reading import WHOLE, LogPart, followed_lines
from shunter.kube.watching import follow
from shunter.operator.causes import REASONS_COVERED_BY_CAUSES, STARTING_REASONS, Cause, cause
from shunter.operator.diagnosis import disruption, recorded_failure
from shunter.operator.overview import is_finished, is_pod_of, is_v2, overview, pod_selector
from shunter.operator.pod_places import Member, Members, Places, place
from shunter.operator.restarts import is_jobset_of, restarts

DRAIN_SECONDS = 5.0
"""How long to wait, once the job is finished, for the last lines of ended containers."""
LAST_READ_SECONDS = 5.0
"""Timeout, after a deadline, for reading the job a last time."""


class JobEnd(NamedTuple):
    """How a followed job ended: the last state of the job (None if it was deleted) and of the pods of its last attempt. `written`
    are the last lines of their containers, by the names of pod and container, as far as they were followed."""

    job: Json | None
    pods: list[Json]
    written: Mapping[tuple[str, str], Sequence[str]] = {}


class JobFollower:
    """Follows one job by watches; the cause that keeps it from training is also read at intervals."""

    def __init__(
        self,
        client: Client,
        resource: Resource,
        job: Json,
        display: Display,
        *,
        part: LogPart = WHOLE,
        started: frozenset[tuple[str, str, int]] = frozenset(),
    ) -> None:
        """`part` applies to the logs of container runs in `started` (`log_options.attempts`); later runs are shown from the
        beginning."""
        self._client = client
        self._resource = resource
        self._job = job
        self._namespace: str = job["metadata"]["namespace"]
        self._part = part
        self._started = started
        self._display = BufferedNotes(display)
        self._obstacle = Obstacle(client, self._observed, self._display)
        self._is_deleted = False
        self._pods: dict[str, Json] = {}
        self._deleted_pods: set[str] = set()
        """Uids of pods that were deleted, for example by a suspension."""
        self._members: Members | None = None
        """With the pods that are there; None if they have to be numbered again."""
        self._phases: dict[str, tuple[str, str]] = {}
        """Label and phase of each present pod, by uid. Cached, as all of a thousand are shown whenever one changes."""
        self._up: dict[str, PodUp] = {}
        """What each of these pods adds to the ranks that are up."""
        self._jobset: Json | None = None
        self._disrupted: set[str] = set()
        self._tails: dict[tuple[str, str, int], asyncio.Task[None]] = {}
        self._written: dict[tuple[str, str], deque[str]] = {}
        self._conditions: set[tuple[str, str, str]] = set()
        self._shown: set[str] = set()
        """Warnings that were shown, without the names of pods."""
        self._events: dict[str, Json] = {}
        """Events about objects whose names begin with the job's, by their own uid: a pod's event may arrive before the pod."""
        self._refusals: set[tuple[type[ApiError], str]] = set()
        self._outages: set[bool] = set()
        """Problems shown since the server answered last: True for no answer, False for an error."""
        self._broken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Gets the exception of a part that failed other than by an error of the server."""

    async def run(self) -> JobEnd:
        """Returns when the job has succeeded, failed or been deleted, and the logs of its ended containers have been shown."""
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
            await cancelled([finished, *watches, *self._tails.values()])
            self._display.close()

    async def run_until(self, deadline: float | None) -> JobEnd | None:
        """Follows the job as `run` does, but returns at the deadline (on the loop's clock): None if the job has not ended. Before
        that the job is read once more, and what keeps it from training; a job whose last logs are still being read has ended,
        too."""
        try:
            async with asyncio.timeout_at(deadline):
                return await self.run()
        except TimeoutError:
            if not self._has_ended:
                with contextlib.suppress(ApiError, TimeoutError):
                    async with asyncio.timeout(LAST_READ_SECONDS):
                        await self._read_once()
            return self._end() if self._has_ended else None

    @property
    def _has_ended(self) -> bool:
        return self._is_deleted or is_finished(self._job)

    def _end(self) -> JobEnd:
        pods = last_pods(self._job, list(self._pods.values()), self._deleted_pods)
        return JobEnd(None if self._is_deleted else self._job, pods, self._written)

    async def _read_once(self) -> None:
        """Reads the job, its pods, and, if it has not ended, what keeps it from training."""
        metadata = self._job["metadata"]
        page = await self._client.list(self._resource, self._namespace, field_selector=f"metadata.name={metadata['name']}")
        found = next((one for one in page.items if one["metadata"]["uid"] == metadata["uid"]), None)
        if found is None:
            self._is_deleted = True
            return
        self._job = self._resource.typed(found)
        if is_finished(self._job):
            await self._read_pods()
            return
        evidence = await evidence_of(self._client, self._job, [*self._events.values()] or None)
        self._pods |= {pod["metadata"]["uid"]: pod for pod in evidence.pods if is_pod_of(self._job, pod)}
        self._obstacle.cause = cause(self._job, evidence, self._client.now())

    def _start(self, part: Coroutine[None, None, None]) -> asyncio.Task[None]:
        """Starts a task. An error of the server ends only this task and is shown; any other error ends `run`."""
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
            self._display.problem(f"not everything is shown: {error.message}")

    def _show_unavailable(self, problem: ApiError) -> None:
        """Shows a problem of the server, once for no answer and once for errors."""
        is_unanswered = isinstance(problem, ConnectionProblem)
        if is_unanswered not in self._outages:
            self._outages.add(is_unanswered)
            self._display.problem(f"{problem.message} Trying again.")

    async def _until_finished(self) -> None:
        name, uid = self._job["metadata"]["name"], self._job["metadata"]["uid"]
        changes = follow(
            self._client,
            self._resource,
            self._namespace,
            field_selector=f"metadata.name={name}",
            initial=[self._job],
            on_listed=self._outages.clear,
            on_silence=self._show_unavailable,
        )
        async with contextlib.aclosing(changes):
            async for change in changes:
                if change.object["metadata"]["uid"] != uid:
                    continue
                if change.gone:
                    self._display.note(f"{self._resource.kind} {name} was deleted")
                    self._is_deleted = True
                    return
                self._job = change.object
                self._show_conditions()
                self._obstacle.check_soon()
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
        ranks = up_text(up_of(self._job, self._up.values()), requested_ranks(self._job, self._jobset))
        self._display.progress(overview(self._job), dict(self._phases.values()), ranks)

    async def _watch_pods(self) -> None:
        async for change in follow(self._client, PODS, self._namespace, label_selector=pod_selector(self._job)):
            pod = change.object
            if not is_pod_of(self._job, pod):
                continue
            uid = pod["metadata"]["uid"]
            is_new = uid not in self._pods
            self._pods[uid] = pod
            if change.gone:
                self._deleted_pods.add(uid)
                self._members = None
                self._phases.pop(uid, None)
                self._up.pop(uid, None)
            else:
                places = Places(self._job)
                phase = pod.get("status", {}).get("phase", "Pending")
                self._phases[uid], self._up[uid] = (places.of(pod).label, phase), pod_up(places, pod)
            if is_new:
                for event in [event for event in self._events.values() if event.get("involvedObject", {}).get("uid") == uid]:
                    self._show_warning(event)
            self._tail_started_containers(pod)
            self._show_disruption(pod)
            self._obstacle.check_soon()
            self._show_progress()

    def _tail_started_containers(self, pod: Json) -> None:
        for container in started_containers(pod):
            key = (pod["metadata"]["uid"], container["name"], container.get("restartCount", 0))
            if key not in self._tails:
                part = self._part if key in self._started else self._part.later()
                self._tails[key] = self._start(self._tail(pod, container["name"], part))

    def _show_disruption(self, pod: Json) -> None:
        """Shows why a pod is disrupted, once. Not for v1 jobs, for which the operator records an event."""
        uid = pod["metadata"]["uid"]
        if is_v2(self._job) and uid not in self._disrupted and (why := disruption(pod)) is not None:
            self._disrupted.add(uid)
            self._display.note(f"{place(self._job, pod).label} is deleted: {why}")

    async def _tail(self, pod: Json, container: str, part: LogPart) -> None:
        pod_member = self._member(pod)
        written = self._written.setdefault((pod["metadata"]["name"], container), deque(maxlen=READ_LINES))
        async for line in followed_lines(self._client, pod, container, part):
            written.append(line)
            self._display.log(pod_member, container, line)

    def _member(self, pod: Json) -> Member:
        if self._members is None:
            self._members = Members(self._job, (one for uid, one in self._pods.items() if uid not in self._deleted_pods))
        return self._members.of(pod)

    async def _watch_jobset(self) -> None:
        """Shows how many pods are requested, and each restart of all of them from now on."""
        name, recreated = self._job["metadata"]["name"], None
        async for change in follow(self._client, JOBSETS, self._namespace, field_selector=f"metadata.name={name}"):
            if change.gone or not is_jobset_of(self._job, change.object):
                continue
            self._jobset = change.object
            self._show_progress()
            counts = restarts(change.object)
            if counts is not None and recreated is not None and counts.made > recreated:
                self._display.note(f"all pods are recreated; restarts: {counts}")
            recreated = counts.made if counts is not None else 0

    async def _watch_events(self) -> None:
        async for change in follow(self._client, CORE_EVENTS, self._namespace):
            if not change.gone and self._may_concern_job(change.object.get("involvedObject", {})):
                self._add_event(change.object)

    def _may_concern_job(self, about: Json) -> bool:
        """Whether an object may be the job, its JobSet, or a Job or pod of it: their names begin with the job's."""
        return str(about.get("name", "")).startswith(self._job["metadata"]["name"])

    def _add_event(self, event: Json) -> None:
        self._events[event["metadata"]["uid"]] = event
        self._obstacle.check_soon()
        self._show_warning(event)

    def _show_warning(self, event: Json) -> None:
        """Shows a warning about the job or its pods, or that a pod started cold; once if several pods have the same. A warning
        that a cause may explain better is passed to `Obstacle`."""
        about = event.get("involvedObject", {})
        uid = about.get("uid", "")
        is_shown = is_shown_to_followers(event.get("type", ""), event.get("reason", ""))
        if not is_shown or (uid != self._job["metadata"]["uid"] and uid not in self._pods):
            return
        # Without the log lines that the event may contain, which have been shown as logs.
        message, _ = recorded_failure(event)
        text = f"{event.get('reason')}: {message}"
        mark = without_names(self._job, text)
        if mark in self._shown:
            return
        self._shown.add(mark)
        warning = f"{about.get('kind')} {about.get('name')}: {text}"
        if event.get("reason") in STARTING_REASONS:
            return
        if event.get("reason") in REASONS_COVERED_BY_CAUSES:
            self._obstacle.warn_unless_cause(warning)
        else:
            self._display.note(warning)

    def _observed(self) -> tuple[Json, list[Json], list[Json]]:
        present = [pod for uid, pod in self._pods.items() if uid not in self._deleted_pods]
        return self._job, present, list(self._events.values())

    @property
    def cause(self) -> Cause | None:
        """What keeps the job from training, as of the last check; None if nothing does."""
        return self._obstacle.cause

    @property
    def has_started(self) -> bool:
        """Whether a container of the job has ever started, as far as its pods were read; else whether the job is Running.
        Containers that the operator adds do not count."""
        if not self._pods:
            return overview(self._job).state in ("Running", "Restarting")
        return any(any(started_containers(pod, ever=True)) for pod in self._pods.values())

    @property
    def job(self) -> Json:
        """The last known state of the job."""
        return self._job

    async def _read_pods(self) -> list[Json]:
        page = await self._client.list(PODS, self._namespace, label_selector=pod_selector(self._job))
        found = [pod for pod in page.items if is_pod_of(self._job, pod)]
        self._pods |= {pod["metadata"]["uid"]: pod for pod in found}
        return found

    async def _drain(self) -> None:
        """Waits for the last lines of ended containers; logs of containers that still run are not followed further."""
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


def started_containers(pod: Json, *, ever: bool = False) -> Iterator[Json]:
    """The statuses of the containers and init containers that run or have ended and may log something about the training. With
    `ever` also of those that wait to be restarted, and of none that the operator adds."""
    for container in container_statuses(pod):
        states = {*container.get("state", {}), *(container.get("lastState", {}) if ever else ())}
        is_left_out = container["name"] in ADDED_CONTAINERS if ever else is_added_without_failure(container)
        if states & {"running", "terminated"} and not is_left_out:
            yield container


def has_ended(pod: Json, container: str) -> bool:
    """Whether a container or init container is terminated; False if it has no status."""
    for entry in container_statuses(pod):
        if entry["name"] == container:
            return "terminated" in entry.get("state", {})
    return False
