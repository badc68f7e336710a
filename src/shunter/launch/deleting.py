"""Deletes a job with everything it owns and waits until it is gone. `notify` gets a sentence for each thing it waits for."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Sequence
from datetime import datetime
from typing import Any

from shunter.api.formats.counts import listed, noun
from shunter.api.meta import Json, annotations_of
from shunter.api.ownership import controller_reference
from shunter.api.resources import JOBS, JOBSETS, PODS, Resource
from shunter.api.titles import title_of
from shunter.cancelling import cancelled
from shunter.jobs.deletion import request_deletion
from shunter.kube.client import Client
from shunter.kube.errors import ApiError, Conflict, Forbidden, NotFound
from shunter.kube.watching import follow
from shunter.launch.annotations import PROGRAM
from shunter.launch.code.stored import tidy
from shunter.launch.runtimes.stored import tidy_runtimes
from shunter.launch.saved_at_stop import StopLogReader, read_saved, stop_sentence
from shunter.operator.overview import is_pod_of, moment, pod_selector

QUIET_SECONDS = 2.0
"""How long nothing is said: most jobs are gone by then."""
LOOK_SECONDS = 5.0
LATE_SECONDS = 15.0
"""How long after its grace period a pod is not remarkable: kubelets are slow on full machines."""
NOW_SECONDS = 1
"""The grace period of `--now`, as kubectl's: 0 would free the name before the process has ended."""
CASCADE = {(JOBSETS.api_version, JOBSETS.kind): JOBSETS, (JOBS.api_version, JOBS.kind): JOBS}
"""What may stand between a job and its pods."""


async def delete_and_wait(
    client: Client,
    resource: Resource,
    job: Json,
    *,
    notify: Callable[[str], None],
    now: bool = False,
    on_this_machine: bool = False,
) -> None:
    """Deletes a job with everything it owns, returns when it is gone (foreground deletion), and tells what it saved if it ran.

    With `now` its pods get a second to end, in place of their own grace periods. `on_this_machine` says whether the directories
    of the cluster's node are this machine's.
    """
    metadata = job["metadata"]
    words = StopLogReader(client, job, pods) if (pods := await _running(client, job)) else None
    asked = moment(metadata.get("deletionTimestamp")) or client.now()
    with contextlib.suppress(NotFound):
        await request_deletion(client, resource, job)
    beside = [asyncio.create_task(_report_wait(client, resource, job, notify, now=now))]
    if now:
        beside.append(asyncio.create_task(_hurry(client, job, notify)))
    try:
        last = await _until_gone(client, resource, job)
        if words is not None:
            saved = read_saved({**job, **last}, await words.end(), on_this_machine=on_this_machine)
            if sentence := stop_sentence(job, saved, asked):
                notify(sentence)
    finally:
        if words is not None:
            words.close()
        await cancelled(beside)


async def _running(client: Client, job: Json) -> list[Json]:
    """The job's pods that run: none when they may not be listed."""
    with contextlib.suppress(ApiError):
        page = await client.list(PODS, job["metadata"]["namespace"], label_selector=pod_selector(job))
        return [pod for pod in page.items if is_pod_of(job, pod) and pod.get("status", {}).get("phase") == "Running"]
    return []


async def delete_leftovers(client: Client, namespace: str, name: str, digest: str = "", *, notify: Callable[[str], None]) -> int:
    """Deletes ConfigMaps that hold the code of a job of this name, and its own TrainingRuntime, if no job owns them: `run` was
    killed before it came to that. Returns how many; what may not be looked for is not counted, but reported."""
    code = await _counted("code", name, tidy(client, namespace, names={name}, digests={digest} if digest else ()), notify)
    return code + await _counted("a runtime", name, tidy_runtimes(client, namespace, names={name}), notify)


async def _counted(what: str, name: str, tidying: Coroutine[Any, Any, int], notify: Callable[[str], None]) -> int:
    try:
        return await tidying
    except Forbidden as error:
        notify(f"unknown whether {what} of {name} remains: {error.message}")
    except NotFound:
        pass  # A cluster that does not serve TrainingRuntimes has none.
    return 0


async def _until_gone(client: Client, resource: Resource, job: Json) -> Json:
    """The job as it was last."""
    metadata, last = job["metadata"], job
    named = f"metadata.name={metadata['name']}"
    changes = follow(client, resource, metadata["namespace"], field_selector=named, initial=[job])
    async with contextlib.aclosing(changes):
        async for seen in changes:
            if seen.object["metadata"]["uid"] != metadata["uid"]:
                return last
            last = seen.object
            if seen.gone:
                return last
    raise AssertionError("following never ends by itself")


async def _hurry(client: Client, job: Json, notify: Callable[[str], None]) -> None:
    """Shortens the grace period of each of the job's own pods, once that is being deleted: before, its controller would replace
    it, since the deletion goes down from owner to owner."""
    namespace = job["metadata"]["namespace"]
    family = {job["metadata"]["uid"]: True}
    try:
        async for seen in follow(client, PODS, namespace, label_selector=pod_selector(job)):
            metadata = seen.object["metadata"]
            is_leaving = not seen.gone and metadata.get("deletionTimestamp") is not None
            if not is_leaving or metadata.get("deletionGracePeriodSeconds", 0) <= NOW_SECONDS:
                continue
            if await descends(client, seen.object, family):
                with contextlib.suppress(NotFound, Conflict):
                    await client.delete(PODS, metadata["name"], namespace, uid=metadata["uid"], grace_period_seconds=NOW_SECONDS)
    except Forbidden as error:
        notify(f"--now has no effect: {error.message}")


async def descends(client: Client, obj: Json, family: dict[str, bool]) -> bool:
    """Whether an object belongs to the job, by the controllers above it and not by labels, which anybody may write. `family`
    remembers what was found of uids; it begins with the job's."""
    owner = controller_reference(obj)
    if owner is None:
        return False
    uid = owner["uid"]
    if uid not in family:
        resource = CASCADE.get((owner["apiVersion"], owner["kind"]))
        if resource is None:
            return False
        try:
            found = await client.get(resource, owner["name"], obj["metadata"]["namespace"])
        except NotFound:
            return False
        family[uid] = found["metadata"]["uid"] == uid and await descends(client, found, family)
    return family[uid]


async def _report_wait(client: Client, resource: Resource, job: Json, notify: Callable[[str], None], *, now: bool) -> None:
    """Tells what keeps the job there, and again when that is something else."""
    metadata = job["metadata"]
    shown = ""
    await asyncio.sleep(QUIET_SECONDS)
    while True:
        with contextlib.suppress(ApiError):
            present = await client.get(resource, metadata["name"], metadata["namespace"])
            pods = (await client.list(PODS, metadata["namespace"], label_selector=pod_selector(job))).items
            subject, text = waits_for(present, pods, client.now(), now=now)
            if subject != shown:
                shown = subject
                notify(text)
        await asyncio.sleep(LOOK_SECONDS)


def waits_for(job: Json, pods: Sequence[Json], at: datetime, *, now: bool) -> tuple[str, str]:
    """What a job that is being deleted waits for: the subject, and the sentence."""
    title = title_of(job)
    leaving = [pod for pod in pods if pod["metadata"].get("deletionTimestamp")]
    late = [pod for pod in leaving if (at - (moment(pod["metadata"]["deletionTimestamp"]) or at)).total_seconds() > LATE_SECONDS]
    if late:
        nodes = sorted({node for pod in late if (node := pod["spec"].get("nodeName"))})
        reason = (
            f"{noun(len(nodes), 'node')} {listed(nodes)} {noun(len(nodes), 'does', 'do')} not report it. See: kubectl get nodes"
        )
        if not nodes:
            metadata = job["metadata"]
            see = f"shunter describe {metadata['name']} -n {metadata['namespace']}"
            reason = f"the cluster has not removed what was on no node. See: {see}"
        return "late", f"{title} waits for {named(late)}, which should have terminated: {reason}"
    if leaving:
        grace = max(pod["metadata"].get("deletionGracePeriodSeconds") or 0 for pod in leaving)
        hint = "; --now gives them a second"
        if now:
            hint = f"; --now is shortening that to {NOW_SECONDS} s" if grace > NOW_SECONDS else ""
        if PROGRAM in annotations_of(job):
            # Its first process passes SIGTERM on.
            return "pods", (
                f"{title} waits for {named(leaving)} to terminate: after SIGTERM they have {grace} s to save "
                f"(terminationGracePeriodSeconds){hint}."
            )
        return "pods", (
            f"{title} waits for {named(leaving)} to terminate. The first process of a container ignores SIGTERM unless it "
            f"handles it, and is killed {grace} s after it (terminationGracePeriodSeconds){hint}."
        )
    kept = [name for name in job["metadata"].get("finalizers") or () if name != "foregroundDeletion"]
    if kept:
        return "finalizers", f"{title} waits for the controller of its finalizer {', '.join(kept)}."
    return "cascade", f"{title} waits until the cluster has deleted its dependent objects."


def named(pods: Sequence[Json]) -> str:
    """`5 pods a, b, c and 2 more`, by name."""
    names = sorted(pod["metadata"]["name"] for pod in pods)
    return f"{noun(len(names), 'pod')} {listed(names)}"
