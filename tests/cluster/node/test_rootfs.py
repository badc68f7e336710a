"""How a container's root is put together."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from shunter.cluster.node.launch import linux, removal, rootfs

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


@pytest.mark.parametrize("name", ["plain", "with blanks", "Donn\u00e9es", "back\\slash"])
def test_a_file_system_is_found_whatever_its_place_is_called(tmp_path: Path, name: str) -> None:
    place = tmp_path / name
    place.mkdir()
    linux.mount("tmpfs", str(place), "tmpfs")
    try:
        assert (str(place), "tmpfs") in rootfs._host_mounts([])
        assert removal.mounts_below(str(place)) == [str(place)]
    finally:
        linux.unmount(str(place))


def test_a_file_system_is_shown_whatever_its_place_is_called(tmp_path: Path) -> None:
    lower, target = tmp_path / "a:b,c\\d", tmp_path / "target"
    lower.mkdir()
    (lower / "file").touch()
    target.mkdir()
    rootfs._overlay(str(lower), str(tmp_path / "upper"), str(tmp_path / "work"), str(target))
    try:
        assert os.listdir(target) == ["file"]
    finally:
        linux.unmount(str(target))
