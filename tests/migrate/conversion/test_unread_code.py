"""Code that comes from images, from volumes, and from elsewhere when a container starts."""

from __future__ import annotations

from typing import Any

import pytest

from shunter.api.meta import Json
from shunter.migrate.conversion.unread_code import UnreadCode, together, unread_code

CLAIM = {"name": "code", "persistentVolumeClaim": {"claimName": "c"}}
DATA = {"name": "data", "nfs": {"server": "s", "path": "/"}}
MOUNTS = [{"name": "code", "mountPath": "/workspace"}, {"name": "data", "mountPath": "/data"}]


def found(*command: str, volumes: tuple[Json, ...] = (CLAIM, DATA), **container: Any) -> UnreadCode:
    spec = {"volumes": [*volumes], "containers": [{"image": "i", "command": [*command], "volumeMounts": MOUNTS, **container}]}
    return unread_code([{"spec": spec}, {"spec": spec}])


@pytest.mark.parametrize(
    ("command", "volumes"),
    [
        (["python", "/workspace/train.py", "--data", "/data/mnist"], ("code",)),
        (["torchrun", "--nproc-per-node=2", "/workspace/src/main.py"], ("code",)),
        (["bash", "-c", "cd /workspace && python train.py"], ("code",)),
        (["/workspace/bin/run"], ("code",)),
        (["python", "/opt/workspace/train.py"], ()),
        (["python", "/workspaces/train.py"], ()),
        (["python", "-m", "train", "--data", "/data"], ()),
        (["sh", "-c", "ls /data"], ()),
    ],
)
def test_a_volume_is_named_from_which_a_program_runs(command: list[str], volumes: tuple[str, ...]) -> None:
    assert found(*command) == UnreadCode(("i",), volumes, ())


def test_a_working_directory_on_a_volume_is_where_programs_are() -> None:
    assert found("python", "train.py", workingDir="/workspace/project").volumes == ("code",)
    assert found("python", "train.py", workingDir="/workspace-old").volumes == ()


def test_a_volume_that_the_cluster_writes_is_read_by_rules() -> None:
    assert found("python", "/workspace/train.py", volumes=({"name": "code", "configMap": {"name": "c"}},)).volumes == ()


@pytest.mark.parametrize(
    ("script", "fetches"),
    [
        ("git clone https://example.org/code && python code/train.py", ("git clone",)),
        ("git -C /code pull; git -C /code  fetch --all", ("git pull", "git fetch")),
        ("curl -sO https://example.org/train.py && wget https://example.org/a", ("curl", "wget")),
        ("aws  s3 cp s3://bucket/train.py .", ("aws s3 cp",)),
        ("echo digit; python legit.py pull", ()),
        ("git config --global a b; ./clone", ()),
    ],
)
def test_what_a_container_fetches_is_named(script: str, fetches: tuple[str, ...]) -> None:
    assert found("sh", "-c", script).fetches == fetches


def test_an_init_container_fetches_too() -> None:
    fetching = {"image": "git", "args": ["git clone a"]}
    assert unread_code([{"spec": {"initContainers": [fetching], "containers": [{"image": "i"}]}}]) == UnreadCode(
        ("git", "i"), (), ("git clone",)
    )


def test_the_code_of_several_jobs_is_named_once() -> None:
    assert together([found("a"), found("a"), found("sh", "-c", "curl b")]) == UnreadCode(("i",), (), ("curl",))
    assert together([]) == UnreadCode((), (), ())
