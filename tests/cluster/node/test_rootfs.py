"""How a container's root is put together."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from shunter.cluster.node.launch import rootfs

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount")
GONE = [("/no/such/directory", "tmpfs"), ("/no/such/share", "nfs4")]


def test_a_file_system_that_is_unmounted_meanwhile_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tables = iter([GONE, [], []])
    monkeypatch.setattr(rootfs, "_host_mounts", lambda hidden: next(tables))
    (tmp_path / "root").mkdir()
    rootfs._add_host_mounts(str(tmp_path), str(tmp_path / "root"), [])
    assert os.listdir(tmp_path) == ["root"]


def test_a_file_system_that_is_there_and_cannot_be_shown_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rootfs, "_host_mounts", lambda hidden: GONE)
    (tmp_path / "root").mkdir()
    with pytest.raises(OSError, match="/no/such/directory"):
        rootfs._add_host_mounts(str(tmp_path), str(tmp_path / "root"), [])
