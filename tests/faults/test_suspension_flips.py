"""A TrainJob that is suspended and resumed at any moment of its operator's work trains on, and no rank of it ever twice."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest

from faults import invariants
from faults.conftest import NewStage
from faults.disturbance import QUIET, WITHIN
from faults.history import History
from faults.operators import Operator, kept_running
from faults.scenarios import Stage, train_job, training_runtime
from player.shape import Json
from shunter.api.resources import CORE_EVENTS, JOBS, JOBSETS, PODS, TRAIN_JOBS, TRAINING_RUNTIMES
from shunter.kube.errors import Conflict, NotFound
from shunter.kube.kubeconfig import Connection

pytestmark = pytest.mark.timeout(600)

AT_ONCE = 12
MADE = 6
"""Writes within which the job is made and says so."""
STOPPED = 6
"""Writes within which it is suspended."""
GRACE = "shunter.dev/grace"
"""The finalizer that stands for the time which the kubelet gives pods."""
WAITS = "starts again when nothing of its last run is left"


@pytest.mark.parametrize("is_killed", [False, True], ids=["", "and is killed then"])
async def test_an_operator_that_meets_a_flip_at_any_write(
    server: Connection, history: History, new_stage: NewStage, is_killed: bool
) -> None:
    gate = asyncio.Semaphore(AT_ONCE)

    async def lead(set_before: int, taken_back_before: int, *, is_running: bool) -> None:
        async with gate:
            stage = await new_stage()
            await flipped(server, history, stage, set_before, taken_back_before, is_running=is_running, is_killed=is_killed)

    async with asyncio.TaskGroup() as group:
        for set_before in range(1, MADE):
            for later in (0, 1, 2):
                group.create_task(lead(set_before, set_before + later, is_running=False))
        for taken_back_before in range(1, STOPPED):
            group.create_task(lead(0, taken_back_before, is_running=True))


async def flipped(
    server: Connection,
    history: History,
    stage: Stage,
    set_before: int,
    taken_back_before: int,
    *,
    is_running: bool,
    is_killed: bool,
) -> None:
    """Leads one job through the flip to its end. A running job is suspended once it runs, and writes count from there."""

    is_over = asyncio.Event()
    """A flip at a write that comes only when the job has been through is none."""

    async def put() -> None:
        if not is_over.is_set():
            await stage.patch(TRAIN_JOBS, "j", {"spec": {"suspend": True}})

    async def take_back() -> None:
        if is_over.is_set():
            return
        await stage.patch(TRAIN_JOBS, "j", {"spec": {"suspend": False}})
        if is_killed:
            faults.kill_after(0)

    async def put_and_take_back() -> None:
        await put()
        await take_back()

    def runs() -> bool:
        pods = history.present(PODS, stage.namespace)
        live = [pod for pod in pods if pod.get("status", {}).get("phase") == "Running" and not is_leaving(pod)]
        return len(live) == len(pods) == 2 and stage.jobs_status("j", "ready") == 1 and not is_suspended(stage)

    def new() -> Operator:
        return Operator(server, namespaces=[stage.namespace], clock=stage.clock)

    first = new()
    faults, waiting = first.faults, [first]
    about = f"set before write {set_before}, taken back before {taken_back_before}, running: {is_running}"
    await stage.create(TRAINING_RUNTIMES, training_runtime())
    async with kept_running(lambda: waiting.pop() if waiting else new()), pods_take_their_time(stage):
        if not is_running:
            if set_before == taken_back_before:
                faults.before_write(set_before, put_and_take_back)
            else:
                faults.before_write(set_before, put)
                faults.before_write(taken_back_before, take_back)
        await stage.create(TRAIN_JOBS, train_job())
        if is_running:
            await history.until(runs, seconds=WITHIN, otherwise=lambda: f"{about}: {told(stage)}")
            faults.before_write(faults.writes + taken_back_before, take_back)
            await put()
        while True:
            # A flip at a write that was never made is none: then it is done now.
            await history.quiet(stage.namespace, seconds=2 * QUIET)
            if not (stage.get(TRAIN_JOBS, "j") or {})["spec"].get("suspend"):
                break
            await take_back()
        await history.until(runs, seconds=WITHIN, otherwise=lambda: f"{about}: {told(stage)}")
        is_over.set()
        await history.quiet(stage.namespace, seconds=QUIET)
        await stage.patch(TRAIN_JOBS, "j", {"spec": {"suspend": False}})
        await history.until(runs, seconds=WITHIN, otherwise=lambda: f"{about}: {told(stage)}")
        assert not [job["metadata"]["name"] for job in history.present(JOBS, stage.namespace) if job["status"].get("failed")], (
            about
        )
        await stage.pods("*", "Succeeded")
        await history.until(
            lambda: "Complete" in stage.conditions(TRAIN_JOBS, "j"), seconds=WITHIN, otherwise=lambda: f"{about}: {told(stage)}"
        )
    assert "Failed" not in {one["reason"] for one in history.present(CORE_EVENTS, stage.namespace)}, about
    invariants.check(history, stage.namespace)
    no_rank_is_begun_before_its_last_pod_is_gone(history, stage.namespace)


async def test_a_job_waits_for_its_pods_however_often_its_operator_is_killed(
    server: Connection, history: History, stage: Stage
) -> None:
    await stage.create(TRAINING_RUNTIMES, training_runtime())

    def new() -> Operator:
        return Operator(server, namespaces=[stage.namespace], clock=stage.clock)

    async with kept_running(new) as operators, pods_take_their_time(stage, until_waited_for=False) as release:
        await stage.create(TRAIN_JOBS, train_job())
        await history.until(lambda: stage.jobs_status("j", "ready") == 1)
        await stage.patch(TRAIN_JOBS, "j", {"spec": {"suspend": True}})
        await history.until(lambda: all(map(is_leaving, history.present(PODS, stage.namespace))))
        await stage.patch(TRAIN_JOBS, "j", {"spec": {"suspend": False}})
        for _ in range(3):
            await history.until(lambda: WAITS in suspension(stage))
            operators[-1].faults.kill_after(0)
            await operators[-1].ended()
            await history.quiet(stage.namespace, seconds=QUIET)
            assert (stage.get(JOBSETS, "j") or {})["spec"]["suspend"] is True
            assert WAITS in suspension(stage)
        release.set()
        await history.until(lambda: stage.jobs_status("j", "ready") == 1 and not is_suspended(stage))
    no_rank_is_begun_before_its_last_pod_is_gone(history, stage.namespace)


def no_rank_is_begun_before_its_last_pod_is_gone(history: History, namespace: str) -> None:
    """Not even while the earlier pod is being deleted: its process may still write."""
    present: dict[str, tuple[str, str]] = {}
    for seen in history.of(PODS, namespace):
        metadata = seen.object["metadata"]
        uid, labels = metadata["uid"], metadata["labels"]
        if seen.type == "DELETED" or seen.object.get("status", {}).get("phase") in ("Succeeded", "Failed"):
            present.pop(uid, None)
            continue
        rank = labels["batch.kubernetes.io/job-name"], labels[invariants.RANK]
        others = [other for other, held in present.items() if held == rank and other != uid]
        assert not others, f"{metadata['name']} is there beside {others}, which is of the same rank"
        present[uid] = rank


def told(stage: Stage) -> str:
    """What a failure shows of the job."""
    shown = [
        (pod["metadata"]["name"], pod.get("status", {}).get("phase"), pod["metadata"].get("deletionTimestamp"))
        for pod in stage.history.present(PODS, stage.namespace)
    ]
    jobs = [job.get("status") for job in stage.history.present(JOBS, stage.namespace)]
    return f"{shown}, {jobs}, {(stage.get(TRAIN_JOBS, 'j') or {}).get('status')}"


def is_leaving(pod: Json) -> bool:
    return "deletionTimestamp" in pod["metadata"]


def suspension(stage: Stage) -> str:
    """What the job says about being suspended; empty when it is not."""
    found = (stage.get(TRAIN_JOBS, "j") or {}).get("status", {}).get("conditions", [])
    return next((str(one["message"]) for one in found if one["type"] == "Suspended" and one["status"] == "True"), "")


def says_that_it_waits(stage: Stage) -> bool:
    """Of a job that was never told suspended, as its operator was killed before, the condition Created says so."""
    found = (stage.get(TRAIN_JOBS, "j") or {}).get("status", {}).get("conditions", [])
    return any(WAITS in one.get("message", "") for one in found)


def is_suspended(stage: Stage) -> bool:
    return "Suspended" in stage.conditions(TRAIN_JOBS, "j")


@contextlib.asynccontextmanager
async def pods_take_their_time(stage: Stage, *, until_waited_for: bool = True) -> AsyncIterator[asyncio.Event]:
    """Pods of the namespace run once they are made. Those that are deleted go only when the job says that it waits for them, or
    when the event that this yields is set."""
    released = asyncio.Event()

    async def patch(pod: Json, finalizers: list[str]) -> None:
        """Unless somebody else has changed the pod, who may have taken a finalizer off."""
        metadata = {"finalizers": finalizers, "resourceVersion": pod["metadata"]["resourceVersion"]}
        with contextlib.suppress(NotFound, Conflict):
            await stage.client.patch(PODS, pod["metadata"]["name"], stage.namespace, {"metadata": metadata})

    async def keep() -> None:
        while True:
            known = len(stage.history.changes)
            for pod in stage.history.present(PODS, stage.namespace):
                name, finalizers = pod["metadata"]["name"], pod["metadata"].get("finalizers", [])
                if is_leaving(pod):
                    is_over = pod.get("status", {}).get("phase") in ("Succeeded", "Failed")
                    is_waited_for = until_waited_for and says_that_it_waits(stage)
                    if GRACE in finalizers and (is_over or is_waited_for or released.is_set()):
                        await patch(pod, [one for one in finalizers if one != GRACE])
                elif GRACE not in finalizers and pod.get("status", {}).get("phase") != "Succeeded":
                    await patch(pod, [*finalizers, GRACE])
                elif pod.get("status", {}).get("phase", "Pending") == "Pending":
                    await stage.pod(name, "Running")
            await stage.history.beyond(known)

    async def follow_release() -> None:
        await released.wait()
        await stage.patch(TRAIN_JOBS, "j", {"metadata": {"annotations": {"shunter.dev/touched": "released"}}})

    tasks = [asyncio.create_task(keep()), asyncio.create_task(follow_release())]
    try:
        yield released
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
