"""What a node writes about its pods, on a disk without room."""

from __future__ import annotations

import resource
import zipfile
from pathlib import Path

import pytest

from full_disk import SmallDisk
from shunter.cluster.node.launch import attempt as files
from shunter.cluster.node.layout import NodeDirectory
from shunter.cluster.node.programs.in_cluster_python import write_sitecustomize
from shunter.cluster.node.programs.shims import write_shims
from shunter.cluster.node.runtime.levels import find_level
from shunter.cluster.node.runtime.pod_ports import PortTable
from shunter.errors import EnvironmentProblem

pytestmark = pytest.mark.integration

POD = ("ns", "p")


async def test_a_node_that_comes_back_to_a_full_disk_runs_pods_as_before(small_disk: SmallDisk) -> None:
    """A trial would fail for want of room, and have it run them at level plain, beside those of the better level."""
    node = NodeDirectory(small_disk.path / "node")
    node.path.mkdir()
    before, launcher = await find_level(node)
    await launcher.stop()
    small_disk.fill()
    after, launcher = await find_level(node)
    assert after == before
    assert launcher.generation == files.read_json(str(node.level_file))["generation"]
    node.level_file.unlink()
    with pytest.raises(EnvironmentProblem, match=r"The disk of .* is full"):
        await find_level(node)


def test_a_node_that_comes_back_writes_its_programs_only_where_they_changed(
    small_disk: SmallDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = NodeDirectory(small_disk.path)
    for hour in range(2):
        monkeypatch.setattr(zipfile.time, "time", lambda hour=hour: 1.8e9 + 3600 * hour)  # type: ignore[attr-defined]
        write_shims(node.shims, "10.0.0.1")
        write_sitecustomize(node.python)
        small_disk.fill()
    small_disk.make_room()
    write_shims(node.shims, "10.0.0.2")
    assert "10.0.0.2" in (node.shims / "nslookup").read_text()


def test_nobody_is_told_of_a_port_that_is_not_written_down(tmp_path: Path) -> None:
    path = tmp_path / "ports.json"
    table = PortTable(path)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            table.port(POD, 29500)
        assert table.assigned(POD, 29500) == 29500
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    told = table.port(POD, 29500)
    assert PortTable(path).assigned(POD, 29500) == told


def test_ports_of_pods_that_are_gone_are_given_back_once_there_is_room(tmp_path: Path) -> None:
    path = tmp_path / "ports.json"
    table = PortTable(path)
    table.port(POD, 29500)
    table.keep({POD})
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))
    try:
        table.keep(set())
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_text() != "[]"
    table.keep(set())
    assert path.read_text() == "[]"
