"""Pods that run as another user than root, on the embedded cluster: what `run` does so that they reach code and checkpoints."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from shunter.errors import InputError
from shunter.launch.checkpoints.saved import make_directory
from shunter.launch.embedded import user_without_access
from shunter.launch.options import Checkpoints
from shunter.launch.runtimes.choice import Runtime

AS_USER = Runtime("mpi", "deepspeed", spec={"template": {"jobs": [{"securityContext": {"runAsUser": 1000}}]}})


def test_the_clusters_own_directory_for_checkpoints_is_for_any_user(tmp_path: Path) -> None:
    make_directory(Checkpoints(directory=str(tmp_path / "team")), tmp_path, "team")
    assert (tmp_path / "team").stat().st_mode & 0o7777 == 0o1777


@pytest.mark.parametrize("given", [None, Checkpoints(claim="weights"), Checkpoints(url="s3://b/p")])
def test_no_other_place_is_made(tmp_path: Path, given: Checkpoints | None) -> None:
    make_directory(given, tmp_path, "team")
    assert list(tmp_path.iterdir()) == []


def test_a_directory_of_the_users_own_is_made_as_users_make_them(tmp_path: Path) -> None:
    mine = tmp_path / "a/mine"
    make_directory(Checkpoints(directory=str(mine)), tmp_path, "team")
    mine.with_name("yours").mkdir()
    assert mine.stat().st_mode == mine.with_name("yours").stat().st_mode


@pytest.mark.parametrize(("below", "why"), [("file/x", "Not a directory"), ("/proc/none", "No such file or directory")])
def test_a_directory_that_cannot_be_made_is_refused(tmp_path: Path, below: str, why: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=rf"--checkpoints .*{below}: .*{below} cannot be created: {why}. Name a directory"):
        make_directory(Checkpoints(directory=str(tmp_path / below)), tmp_path, "team")


def test_one_that_is_there_keeps_its_mode(tmp_path: Path) -> None:
    (tmp_path / "team").mkdir(mode=0o750)
    make_directory(Checkpoints(directory=str(tmp_path / "team")), tmp_path, "team")
    assert (tmp_path / "team").stat().st_mode & 0o7777 == 0o750


@pytest.mark.skipif(os.geteuid() != 0, reason="only a cluster that runs as root switches users")
def test_a_private_directory_is_out_of_reach_for_another_user_alone(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    assert user_without_access(AS_USER, tmp_path) == 1000
    assert user_without_access(Runtime("torch", "torch"), tmp_path) is None
    os.chown(tmp_path, 1000, 1000)
    assert user_without_access(AS_USER, tmp_path) is None
    os.chown(tmp_path, 0, 0)
    tmp_path.chmod(0o755)
    assert user_without_access(AS_USER, tmp_path) is None
