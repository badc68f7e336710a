"""A new job gets no name by which it would find another job's checkpoints. Buckets are in tests/recipes/test_buckets.py."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from shunter.api.meta import Json
from shunter.api.resources import SECRETS, TRAIN_JOBS
from shunter.errors import InputError
from shunter.kube.errors import Forbidden, Status
from shunter.launch.checkpoints import used_names as module
from shunter.launch.checkpoints.used_names import used_names
from shunter.launch.code.delivery import MountedCode
from shunter.launch.objects import launch
from shunter.launch.options import Checkpoints, LaunchOptions, Program
from shunter.launch.rerunning import rerun
from shunter.launch.runtimes.choice import Runtime
from stored_objects import StoredObjects

BUCKET = Checkpoints(url="s3://models/runs")
SECRET: Json = {"metadata": {"name": "s3", "namespace": "team"}, "data": {"KEY": "a2V5", "SECRET": "c2VjcmV0"}}
KEYS = tuple(
    {"name": name, "valueFrom": {"secretKeyRef": {"name": "s3", "key": key}}}
    for name, key in {"AWS_ACCESS_KEY_ID": "KEY", "AWS_SECRET_ACCESS_KEY": "SECRET"}.items()
)


async def used(place: Checkpoints | None, environment: tuple[Json, ...] = (), name: str = "") -> tuple[set[str], list[str]]:
    said: list[str] = []
    client = StoredObjects((SECRETS, SECRET)).client
    return await used_names(client, "team", place, environment, said.append, name=name), said


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Has checkpoints of `train`; what it was asked with."""
    asked: dict[str, str] = {}

    def names(url: str, variables: dict[str, str]) -> set[str]:
        asked.update(variables, url=url)
        return {"train"}

    monkeypatch.setattr(module, "names_in_bucket", names)
    return asked


async def test_names_in_a_directory_and_in_a_bucket_are_known_and_a_given_one_of_them_is_mentioned(
    tmp_path: Path, bucket: dict[str, str]
) -> None:
    (tmp_path / "train/step-1").mkdir(parents=True)
    directory = Checkpoints(directory=str(tmp_path))
    assert await used(None) == (set(), [])
    assert await used(directory) == ({"train"}, [])
    assert await used(BUCKET, KEYS) == ({"train"}, [])
    assert bucket == {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "url": "s3://models/runs"}
    for place, title in ((directory, str(tmp_path)), (BUCKET, "s3://models/runs")):
        expected = [f"checkpoints: {title}/train exists, and the program may resume from it"]
        assert await used(place, KEYS, "train") == ({"train"}, expected)
        assert await used(place, KEYS, "other") == ({"train"}, [])


@pytest.mark.parametrize(
    ("place", "environment", "title"),
    [
        pytest.param(Checkpoints(claim="runs", inside="a"), (), "claim runs below a", id="a claim"),
        pytest.param(BUCKET, (), "s3://models/runs", id="a bucket of which only the pods have the keys"),
        pytest.param(Checkpoints(url="gs://models/runs"), KEYS, "gs://models/runs", id="a bucket of another store"),
    ],
)
async def test_where_names_are_not_known_it_is_said(place: Checkpoints, environment: tuple[Json, ...], title: str) -> None:
    unknown = f"checkpoints: not checked whether a deleted job of the same name has checkpoints in {title}"
    assert await used(place, environment) == (set(), [f"{unknown}; the program may resume from them"])


async def test_a_bucket_that_cannot_be_listed_is_not_taken_for_an_empty_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> set[str]:
        raise InputError("AccessDenied")

    monkeypatch.setattr(module, "names_in_bucket", refuse)
    found, (said,) = await used(BUCKET, KEYS)
    assert (found, "in s3://models/runs (AccessDenied); the program may resume from them" in said) == (set(), True)


def writing(namespace: str, name: str, place: Checkpoints, *, resume: str = "", **status: Any) -> Json:
    """A job that saves there; it runs unless the test gives another status."""
    options = LaunchOptions(program=Program(path="train.py"), checkpoints=place, resume=resume)
    made = launch(options, MountedCode("/src"), Runtime("torch", "torch"), name=name, namespace=namespace)[-1]
    return {**made, "status": status}


@pytest.mark.parametrize("place", [Checkpoints(directory="/shared"), BUCKET], ids=["directory", "bucket"])
async def test_two_jobs_never_write_the_same_checkpoints(place: Checkpoints, monkeypatch: pytest.MonkeyPatch) -> None:
    """In two namespaces jobs got one name, and one place, before the first had written anything there."""
    monkeypatch.setattr(module, "names_in_bucket", lambda url, variables: set())
    here, elsewhere = writing("team", "train", place), Checkpoints(directory="/shared/a")
    others = (writing("b", "lm", place), writing("c", "lm-2", place, resume="lm-1"), writing("d", "far", elsewhere))
    done = writing("e", "ended", place, conditions=[{"type": "Complete", "status": "True"}])
    client = StoredObjects((SECRETS, SECRET), *((TRAIN_JOBS, job) for job in (here, *others, done))).client

    async def used_by(name: str) -> tuple[set[str], int]:
        said: list[str] = []
        return await used_names(client, "team", place, KEYS, said.append, name=name), len(said)

    names = {"train", "lm", "lm-1", "ended"}
    assert await used_by("") == (names, 0)
    assert await used_by("far") == (names, 0)
    assert await used_by("ended") == (names, 0)
    assert await used_by("train") == (names - {"train"}, 0), "the job of this name is replaced"
    for name, writer in (("lm", "TrainJob b/lm is "), ("lm-1", "TrainJob c/lm-2 is ")):
        with pytest.raises(InputError, match=f"--name {name}: {writer}.*, and two jobs would write the same checkpoints"):
            await used_by(name)


async def test_a_job_whose_place_has_a_slash_at_its_end_is_seen_to_write_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "names_in_bucket", lambda url, variables: set())
    other = writing("b", "lm", BUCKET)
    for variable in other["spec"]["trainer"]["env"]:
        variable["value"] += "/" * (variable["name"] == "SHUNTER_CHECKPOINT_DIR")
    client = StoredObjects((SECRETS, SECRET), (TRAIN_JOBS, other)).client
    with pytest.raises(InputError, match="two jobs would write the same checkpoints"):
        await used_names(client, "team", BUCKET, KEYS, list[str]().append, name="lm")


async def test_who_may_list_the_jobs_of_one_namespace_alone_sees_those(monkeypatch: pytest.MonkeyPatch) -> None:
    place = Checkpoints(directory="/shared")
    objects = StoredObjects((TRAIN_JOBS, writing("team", "mine", place)))
    listed = objects.client.list

    async def only_own(resource: Any, namespace: str = "", **more: Any) -> Any:
        if not namespace:
            raise Forbidden(Status(code=403, message="may not list trainjobs at the cluster scope"))
        return await listed(resource, namespace, **more)

    monkeypatch.setattr(objects.client, "list", only_own)
    assert await used_names(objects.client, "team", place, (), print) == {"mine"}


async def test_a_rerun_gets_no_name_of_a_deleted_job_with_checkpoints_in_its_bucket(monkeypatch: pytest.MonkeyPatch) -> None:
    """It starts from the beginning, in a place of its own."""
    monkeypatch.setattr(module, "names_in_bucket", lambda url, variables: {"train", "train-2"})
    options = LaunchOptions(program=Program(path="train.py"), checkpoints=BUCKET, environment=KEYS)
    first = launch(options, MountedCode("/src"), Runtime("torch", "torch"), name="train", namespace="team")[-1]
    objects = StoredObjects((SECRETS, SECRET), (TRAIN_JOBS, first))
    said: list[str] = []
    again = await rerun(objects.client, TRAIN_JOBS, first, notify=said.append)
    assert (again["metadata"]["name"], said) == ("train-3", [])
    named = await rerun(objects.client, TRAIN_JOBS, first, name="train-2", notify=said.append)
    assert named["metadata"]["name"] == "train-2"
    assert said == ["checkpoints: s3://models/runs/train-2 exists, and the program may resume from it"]
