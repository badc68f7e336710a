"""ConfigMaps that hold code: sent once, owned by every job that uses them, removed when none does."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import pytest

from shunter.api.meta import Json
from shunter.api.resources import CONFIG_MAPS, TRAIN_JOBS
from shunter.errors import InputError
from shunter.launch.annotations import CODE_LABEL, DIGEST, JOB_LABEL, SHORT
from shunter.launch.code.stored import add_owners, send, tidy, users
from stored_objects import StoredObjects

ONE, OTHER = "1" * 64, "2" * 64
SAME_LABEL = ONE[:SHORT] + "3" * (64 - SHORT)
"""A digest whose label is that of ONE."""


def code(name: str, digest: str = ONE, job: str = "train", owners: Sequence[Json] = ()) -> Json:
    labels = {CODE_LABEL: digest[:SHORT], JOB_LABEL: job}
    metadata = {"name": name, "namespace": "team", "labels": labels, "annotations": {DIGEST: digest}}
    return CONFIG_MAPS.typed({"metadata": {**metadata, **({"ownerReferences": list(owners)} if owners else {})}})


def job(name: str, digest: str = ONE, **metadata: str) -> Json:
    marks = {"labels": {CODE_LABEL: digest[:SHORT]}, "annotations": {DIGEST: digest}}
    return TRAIN_JOBS.typed({"metadata": {"name": name, "namespace": "team", "uid": f"uid-{name}", **marks, **metadata}})


def owners(objects: StoredObjects, name: str) -> list[str]:
    return [owner["uid"] for owner in objects.get(CONFIG_MAPS, name)["metadata"].get("ownerReferences", [])]


def written(objects: StoredObjects) -> list[str]:
    return [f"{write.method} {write.path}" for write in objects.writes]


def create(objects: StoredObjects) -> Callable[[Json], Awaitable[Json]]:
    return lambda obj: objects.client.create(CONFIG_MAPS, obj)


async def test_only_what_is_missing_is_sent() -> None:
    objects = StoredObjects((CONFIG_MAPS, code("code-0")))
    assert await send(objects.client, "team", [code("code-0"), code("code-1")], create(objects)) == 1
    assert [write.body["metadata"]["name"] for write in objects.writes] == ["code-1"]


async def test_code_under_our_name_whose_digest_only_begins_alike_is_refused_with_the_command_that_removes_it() -> None:
    objects = StoredObjects((CONFIG_MAPS, code("code-0", SAME_LABEL)))
    with pytest.raises(InputError, match="exists and does not contain this code") as refusal:
        await send(objects.client, "team", [code("code-0")], create(objects))
    assert refusal.value.remedy == "Delete it: kubectl delete configmap code-0 -n team"


async def test_every_job_with_this_code_becomes_an_owner_but_none_that_is_being_deleted() -> None:
    leaving = job("leaving", deletionTimestamp="2026-11-21T12:00:00Z")
    jobs = (job("a"), job("b"), job("other", OTHER), job("alike", SAME_LABEL), leaving)
    objects = StoredObjects((CONFIG_MAPS, code("code-0")), *((TRAIN_JOBS, one) for one in jobs))
    await add_owners(objects.client, "team", [code("code-0")])
    assert owners(objects, "code-0") == ["uid-a", "uid-b"]
    assert [one["name"] for one in await users(objects.client, "team", OTHER[:SHORT], OTHER)] == ["other"]


async def test_code_that_went_with_its_only_owner_meanwhile_is_created_again() -> None:
    objects = StoredObjects((TRAIN_JOBS, job("b")))
    await add_owners(objects.client, "team", [code("code-0")])
    assert owners(objects, "code-0") == ["uid-b"]


async def test_what_an_interrupted_run_left_goes_to_the_jobs_that_use_it_or_away() -> None:
    objects = StoredObjects(
        (CONFIG_MAPS, code("used")),
        (CONFIG_MAPS, code("unused", OTHER)),
        (CONFIG_MAPS, code("of-another-name", OTHER, job="bert")),
        (TRAIN_JOBS, job("train")),
    )
    assert await tidy(objects.client, "team", names=["train"]) == 1
    assert owners(objects, "used") == ["uid-train"]
    assert [line for line in written(objects) if line.startswith("DELETE")] == ["DELETE configmaps/unused"]


async def test_code_with_an_owner_or_without_a_digest_or_that_is_about_to_be_used_stays() -> None:
    unmarked = code("unmarked", OTHER)
    unmarked["metadata"]["annotations"] = {}
    owner = TRAIN_JOBS.typed({"name": "gone", "uid": "gone"})
    objects = StoredObjects(
        (CONFIG_MAPS, code("owned", OTHER, owners=[owner])), (CONFIG_MAPS, unmarked), (CONFIG_MAPS, code("kept"))
    )
    assert await tidy(objects.client, "team", names=["train"], keep=ONE) == 0
    assert written(objects) == []


async def test_code_is_found_by_its_digest_as_by_the_name_of_its_job() -> None:
    objects = StoredObjects((CONFIG_MAPS, code("code-0")))
    assert await tidy(objects.client, "team", names=["not a label!"], digests=[ONE]) == 1
