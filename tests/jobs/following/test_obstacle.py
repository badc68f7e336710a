"""What keeps a followed job from training is shown once, and so is its end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shunter.api.meta import Json
from shunter.api.training.pytorch import PYTORCH_JOBS
from shunter.jobs.following.obstacle import Obstacle
from shunter.jobs.following.pipe_display import PipeDisplay
from stored_objects import StoredObjects

METADATA = {"name": "j", "namespace": "team", "uid": "u-j", "creationTimestamp": "2026-01-01T00:00:00Z"}
JOB: Json = PYTORCH_JOBS.typed({"metadata": METADATA, "spec": {"pytorchReplicaSpecs": {"Master": {"replicas": 1}}}})


def pod(**status: Any) -> Json:
    labels = {"training.kubeflow.org/replica-type": "master", "training.kubeflow.org/replica-index": "0"}
    owners = [{"uid": "u-j", "controller": True}]
    return {
        "metadata": {"name": "j-master-0", "namespace": "team", "uid": "p", "labels": labels, "ownerReferences": owners},
        "spec": {"containers": [{"name": "pytorch", "image": "nowhere/train:1"}]},
        "status": {"phase": "Pending", **status},
    }


def waiting(reason: str) -> Json:
    return pod(
        containerStatuses=[
            {"name": "pytorch", "image": "nowhere/train:1", "state": {"waiting": {"reason": reason, "message": "no such image"}}}
        ]
    )


RUNNING = pod(phase="Running")


class Told(PipeDisplay):
    """A display that remembers what it is told."""

    def __init__(self) -> None:
        self.troubles: list[str] = []
        self.notes: list[str] = []

    def problem(self, text: str) -> None:
        self.troubles.append(text)

    def note(self, text: str) -> None:
        self.notes.append(text)


class Followed:
    """A job that is looked at as the test changes it."""

    def __init__(self) -> None:
        self.job: Json = JOB
        self.pods: Sequence[Json] = ()
        self.told = Told()
        self.obstacle = Obstacle(StoredObjects().client, lambda: (self.job, self.pods, ()), self.told)

    async def look(self, *pods: Json, **status: Any) -> None:
        self.pods, self.job = pods, {**JOB, "status": status}
        await self.obstacle.check()


async def test_a_cause_is_told_once_however_often_it_is_looked_at() -> None:
    followed = Followed()
    for _ in range(3):
        await followed.look(waiting("ImagePullBackOff"))
    (problem,) = followed.told.troubles
    assert "nowhere/train:1" in problem
    assert followed.obstacle.cause is not None
    assert followed.told.notes == []


async def test_a_cause_that_has_gone_is_said_to_have_passed_once() -> None:
    followed = Followed()
    await followed.look(waiting("ImagePullBackOff"))
    word = followed.obstacle.cause.word if followed.obstacle.cause else ""
    for _ in range(2):
        await followed.look(RUNNING)
    assert followed.told.notes == [f"{word} has passed"]
    assert followed.obstacle.cause is None


async def test_a_cause_that_comes_back_is_told_again() -> None:
    followed = Followed()
    for pods in (waiting("ImagePullBackOff"), RUNNING, waiting("ImagePullBackOff")):
        await followed.look(pods)
    assert len(followed.told.troubles) == 2


async def test_a_job_that_has_ended_has_no_obstacle_that_passed() -> None:
    followed = Followed()
    await followed.look(waiting("ImagePullBackOff"))
    await followed.look(RUNNING, conditions=[{"type": "Failed", "status": "True"}])
    assert followed.told.notes == []


async def test_a_warning_is_shown_only_where_no_cause_says_the_same() -> None:
    followed = Followed()
    followed.obstacle.warn_unless_cause("Failed: no such image")
    await followed.look(waiting("ImagePullBackOff"))
    assert followed.told.notes == []
    followed = Followed()
    followed.obstacle.warn_unless_cause("FailedScheduling: no node")
    for _ in range(2):
        await followed.look(RUNNING)
    assert followed.told.notes == ["FailedScheduling: no node"]
