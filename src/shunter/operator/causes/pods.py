"""What blocks a pod of a job, by its status and its events. Pure; input is plain JSON."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from shunter.api.core import STARTING, container_statuses, pod_has_ended
from shunter.api.grouping import grouped_by
from shunter.api.meta import Json
from shunter.operator import needs
from shunter.operator.causes.blocked_pod import RESPONSE_TIMEOUT, BlockedPod, age
from shunter.operator.causes.events import event_time
from shunter.operator.causes.placement import unscheduled_pod, with_gangs
from shunter.operator.overview import moment
from shunter.operator.pod_places import Members, named_place, place

LOOP_RESTARTS = 2
"""Restarts after which a container that runs for less than STEADY fails again and again."""
STEADY = timedelta(minutes=1)
IMAGE_REASONS = (
    "ErrImagePull",
    "ImagePullBackOff",
    "ErrImageNeverPull",
    "InvalidImageName",
    "ImageInspectError",
    "RegistryUnavailable",
)
NODE_REASONS = ("FailedMount", "FailedAttachVolume", "FailedMapVolume", "FailedCreatePodSandBox", "NetworkNotReady")
"""Reasons of events in which a node reports why it cannot start a pod."""


def blocked_pods(job: Json, pods: Sequence[Json], events: Iterable[Json], now: datetime) -> list[BlockedPod]:
    """The pods of a job that do not run, by rank, each with the reason. A pod that is only starting is not one of them."""
    about = grouped_by(events, lambda event: event.get("involvedObject", {}).get("uid", ""))
    members = Members(job, pods)
    doubtful = sorted((pod for pod in pods if not _is_well(pod)), key=lambda pod: _order(members, pod))
    blocked = (_blocked_pod(place(job, pod).label, pod, about.get(pod["metadata"].get("uid", ""), []), now) for pod in doubtful)
    return with_gangs([one for one in blocked if one is not None])


def _is_well(pod: Json) -> bool:
    """Whether nothing blocks the pod: it has ended, is being deleted, or all its containers run after at most one restart."""
    status = pod.get("status", {})
    if pod_has_ended(pod) or "deletionTimestamp" in pod["metadata"]:
        return True
    return status.get("phase") == "Running" and all(
        "running" in one.get("state", {}) and one.get("restartCount", 0) < LOOP_RESTARTS
        for one in status.get("containerStatuses") or ()
    )


def _repeated_failures(job: Json, pods: Sequence[Json]) -> list[BlockedPod]:
    """Ranks whose pods have failed more than once and are recreated."""
    ended = [pod for pod in pods if pod.get("status", {}).get("phase") == "Failed"]
    members = Members(job, pods)
    failed = grouped_by(sorted(ended, key=lambda pod: _order(members, pod)), lambda pod: members.of(pod).label)
    return [
        BlockedPod(label=label, word="CrashLoop", text=f"its pods fail again and again{_exit(of_rank)}", is_loop=True)
        for label, of_rank in failed.items()
        if len(of_rank) >= LOOP_RESTARTS
    ]


def crash_loops(job: Json, pods: Sequence[Json], blocked: Iterable[BlockedPod], now: datetime) -> list[BlockedPod]:
    """Ranks that fail repeatedly: by the blocked pods and the failed pods that still exist, else by the job's record."""
    return [*(one for one in blocked if one.is_loop), *_repeated_failures(job, pods)] or _recorded_crash_loops(job, pods, now)


def _recorded_crash_loops(job: Json, pods: Sequence[Json], now: datetime) -> list[BlockedPod]:
    """Ranks that have failed repeatedly and recently, by the job's record, which also has failures of deleted pods."""
    members = Members(job, pods)
    labels = {found.rank: found.label for found in map(members.of, pods)}
    failed: dict[str, list[Json]] = {}
    last_failures = ((job.get("status") or {}).get("rankFailures") or {}).get("last") or []
    for failure in sorted((one for one in last_failures if one.get("rank") is not None), key=lambda one: int(one["rank"])):
        role, index = named_place(job, failure.get("pod", ""))
        label = f"{role}-{index}" if role else labels.get(failure["rank"], f"rank {failure['rank']}")
        failed.setdefault(label, []).append(failure)
    found = []
    for label, of_rank in failed.items():
        last = moment(of_rank[-1].get("time"))
        if len(of_rank) < LOOP_RESTARTS or last is None or now - last > STEADY:
            continue
        codes = {failure.get("exitCode") for failure in of_rank}
        code = codes.pop() if len(codes) == 1 else None
        text = f"its pods fail again and again{f' with exit code {code}' if code else ''}"
        found.append(BlockedPod(label=label, word="CrashLoop", text=text, is_loop=True))
    return found


def _exit(pods: Sequence[Json]) -> str:
    codes = {
        status["state"]["terminated"].get("exitCode")
        for pod in pods
        for status in pod.get("status", {}).get("containerStatuses") or []
        if status.get("state", {}).get("terminated", {}).get("exitCode")
    }
    return f" with exit code {codes.pop()}" if len(codes) == 1 else ""


def _order(members: Members, pod: Json) -> tuple[bool, int, str]:
    rank = members.of(pod).rank
    return rank is None, rank or 0, pod["metadata"]["name"]


def _blocked_pod(label: str, pod: Json, events: Sequence[Json], now: datetime) -> BlockedPod | None:
    status = pod.get("status", {})
    containers = container_statuses(pod)
    if not pod.get("spec", {}).get("nodeName") and not containers:
        return unscheduled_pod(label, pod, events, now)
    for container in containers:
        if (found := _container(label, container, now)) is not None:
            return found
    has_started = any(set(one.get("state", {})) & {"running", "terminated"} or one.get("restartCount") for one in containers)
    if has_started or status.get("phase") == "Running":
        return None
    if (found := _node_failure(label, events)) is not None:
        return found
    if not containers and age(pod, now) > RESPONSE_TIMEOUT:
        node = pod["spec"]["nodeName"]
        text = f"node {node} has not started the pod"
        return BlockedPod(label=label, word="NodeNotResponding", text=text, remedy=f"See: kubectl describe node {node}")
    return None


def _container(label: str, container: Json, now: datetime) -> BlockedPod | None:
    """What blocks a pod because of this container; None if it runs or is only starting."""
    state, last = container.get("state", {}), container.get("lastState", {})
    waiting = state.get("waiting") or {}
    reason, message, name = waiting.get("reason") or "", (waiting.get("message") or "").strip(), container["name"]
    if reason in IMAGE_REASONS:
        text = f"image {container.get('image') or '?'} cannot be pulled ({reason}{f': {message}' if message else ''})"
        return BlockedPod(label=label, word="ImagePull", text=text, remedy="Correct the image's name, or imagePullSecrets.")
    if reason == "CreateContainerConfigError":
        return missing_source(label, message) or BlockedPod(label=label, word="ConfigError", text=f"container {name}: {message}")
    if reason == "CrashLoopBackOff" or _is_in_crash_loop(container, now):
        ended = state.get("terminated") or last.get("terminated") or {}
        text, remedy = _crash_loop_text(name, ended), needs.for_missing(ended.get("message") or "")
        return BlockedPod(label=label, word="CrashLoop", text=text, remedy=remedy, is_loop=True)
    if reason in STARTING and message:
        # Our own node says here what a kubelet says in events only.
        return missing_source(label, message) or BlockedPod(label=label, word="VolumeMount", text=message)
    if reason not in STARTING:
        text = f"container {name}: {reason}{f': {message}' if message else ''}"
        return BlockedPod(label=label, word="StartError", text=text, remedy=needs.for_missing(message))
    return None


def _is_in_crash_loop(container: Json, now: datetime) -> bool:
    """Whether a container that was restarted more than once has failed again, or has not run for long since it did."""
    state, last = container.get("state", {}), container.get("lastState", {})
    if container.get("restartCount", 0) < LOOP_RESTARTS or not (last.get("terminated") or {}).get("exitCode"):
        return False
    started = moment((state.get("running") or {}).get("startedAt"))
    return bool((state.get("terminated") or {}).get("exitCode")) or (started is not None and now - started < STEADY)


def _crash_loop_text(name: str, ended: Json) -> str:
    how = f" with exit code {ended['exitCode']}" if ended.get("exitCode") else ""
    how += f" ({ended['reason']})" if ended.get("reason") not in (None, "", "Error") else ""
    if ended.get("reason") == "StartError" and ended.get("message"):
        how += f": {ended['message'].strip()}"
    return f"container {name} ends again and again{how}"


def _node_failure(label: str, events: Sequence[Json]) -> BlockedPod | None:
    """The node's newest failure event for a pod that has not started; None once a later event shows progress."""
    newest = max(events, key=lambda event: (event_time(event), event.get("reason") in NODE_REASONS), default=None)
    if newest is None or newest.get("reason") not in NODE_REASONS:
        return None
    message = newest.get("message", "").strip()
    if (missing := missing_source(label, message)) is not None:
        return missing
    word = "VolumeMount" if newest["reason"].startswith(("FailedM", "FailedAttach")) else "PodSandbox"
    return BlockedPod(label=label, word=word, text=message)


_SOURCES = (
    (re.compile(r'configmap "([^"]+)" not found', re.IGNORECASE), "MissingConfigMap", "ConfigMap {} does not exist"),
    (re.compile(r'secret "([^"]+)" not found', re.IGNORECASE), "MissingSecret", "Secret {} does not exist"),
    (re.compile(r'persistentvolumeclaims? "([^"]+)" not found'), "MissingClaim", "PersistentVolumeClaim {} does not exist"),
    (re.compile(r"couldn't find key (\S+) in ConfigMap (\S+)"), "MissingConfigMap", "key {} is missing in ConfigMap {}"),
    (re.compile(r"couldn't find key (\S+) in Secret (\S+)"), "MissingSecret", "key {} is missing in Secret {}"),
    (re.compile(r"configmap references non-existent config key: (\S+)"), "MissingConfigMap", "key {} is missing in a ConfigMap"),
    (re.compile(r"references non-existent secret key: (\S+)"), "MissingSecret", "key {} is missing in a Secret"),
)


def missing_source(label: str, message: str) -> BlockedPod | None:
    """The ConfigMap, Secret or claim that a node's message says is missing; None when it says something else."""
    for pattern, word, text in _SOURCES:
        if match := pattern.search(message):
            what = text.format(*match.groups())
            return BlockedPod(label=label, word=word, text=what, remedy="Create it, or correct the name; the pod then continues.")
    return None
