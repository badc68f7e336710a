"""The TrainingRuntime of one job: owned by it, and never left behind."""

from __future__ import annotations

import pytest

from shunter.api.meta import Json
from shunter.api.resources import TRAIN_JOBS, TRAINING_RUNTIMES
from shunter.errors import EnvironmentProblem
from shunter.launch.annotations import JOB_LABEL, MADE_FROM
from shunter.launch.runtimes.stored import runtime_made_for, set_runtime_owner, tidy_runtimes
from stored_objects import StoredObjects


def runtime(name: str = "train", *, made_for: str | None = "train", uid: str = "r1") -> Json:
    marks: Json = {"labels": {JOB_LABEL: made_for}, "annotations": {MADE_FROM: "torch"}} if made_for else {}
    return TRAINING_RUNTIMES.typed({"metadata": {"name": name, "namespace": "team", "uid": uid, **marks}})


def job(name: str = "train", *, uses: str = "train", kind: str = "TrainingRuntime", **metadata: str) -> Json:
    metadata = {"name": name, "namespace": "team", "uid": f"uid-{name}", **metadata}
    return TRAIN_JOBS.typed({"metadata": metadata, "spec": {"runtimeRef": {"kind": kind, "name": uses}}})


def owners(objects: StoredObjects) -> list[str]:
    return [owner["uid"] for owner in objects.get(TRAINING_RUNTIMES, "train")["metadata"].get("ownerReferences", [])]


@pytest.mark.parametrize(
    ("found", "asked", "is_own"),
    [
        (runtime(), job(), True),
        (runtime(made_for=None), job(), False),
        (runtime(made_for="other"), job(), False),
        (runtime(), job(kind="ClusterTrainingRuntime"), False),
        (runtime("shared"), job(uses="shared"), False),
    ],
    ids=["made for it", "of its name, and a user's", "made for another", "of the cluster", "shared"],
)
async def test_a_runtime_is_a_jobs_own_if_it_was_made_for_it_alone(found: Json, asked: Json, is_own: bool) -> None:
    client = StoredObjects((TRAINING_RUNTIMES, found)).client
    assert (await runtime_made_for(client, asked) is not None) is is_own


async def test_the_job_owns_its_runtime_and_one_that_went_meanwhile_is_made_again() -> None:
    objects = StoredObjects((TRAINING_RUNTIMES, runtime()), (TRAIN_JOBS, job()))
    await set_runtime_owner(objects.client, job(), runtime(), runtime())
    assert owners(objects) == ["uid-train"]
    objects = StoredObjects((TRAIN_JOBS, job()))
    await set_runtime_owner(objects.client, job(), runtime(), runtime())
    assert owners(objects) == ["uid-train"]


async def test_a_job_whose_runtime_was_replaced_is_deleted_and_not_trained_with_the_other() -> None:
    objects = StoredObjects((TRAINING_RUNTIMES, runtime(uid="r2")), (TRAIN_JOBS, job()))
    with pytest.raises(EnvironmentProblem, match=r"was replaced while the job was created\. The job was deleted"):
        await set_runtime_owner(objects.client, job(), runtime(), runtime(uid="r1"))
    assert [f"{write.method} {write.path}" for write in objects.writes][-1] == "DELETE trainjobs/train"
    assert owners(objects) == []


@pytest.mark.parametrize(
    ("user", "is_kept"),
    [
        (job(), True),
        (None, False),
        (job(uses="torch"), False),
        (job(kind="ClusterTrainingRuntime"), False),
        (job(deletionTimestamp="2026-11-21T12:00:00Z"), False),
    ],
    ids=["used", "no job", "its job uses another", "its job uses the cluster's of that name", "its job is being deleted"],
)
async def test_a_runtime_that_was_left_goes_to_the_job_that_uses_it_or_away(user: Json | None, is_kept: bool) -> None:
    objects = StoredObjects((TRAINING_RUNTIMES, runtime()), *([(TRAIN_JOBS, user)] if user else []))
    assert await tidy_runtimes(objects.client, "team", names=["train"]) == (0 if is_kept else 1)
    if is_kept:
        assert owners(objects) == ["uid-train"]
        objects.writes.clear()
        await tidy_runtimes(objects.client, "team", names=["train"])
        assert objects.writes == []


async def test_a_runtime_that_a_user_made_is_never_touched() -> None:
    unmarked = runtime()
    unmarked["metadata"]["annotations"] = {}
    objects = StoredObjects((TRAINING_RUNTIMES, unmarked), (TRAINING_RUNTIMES, runtime("other", made_for="train")))
    assert await tidy_runtimes(objects.client, "team", names=["train"]) == 0
    assert objects.writes == []
