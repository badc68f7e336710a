"""Where volumes are on this machine."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from shunter.cluster.node.content.references import MissingSourceError
from shunter.cluster.node.content.volumes import memory_volumes, volume_source
from shunter.cluster.node.layout import PodDirectory


def test_an_empty_dir_is_made_for_the_pod_and_any_user_may_write_to_it(tmp_path: Path) -> None:
    pod = PodDirectory(tmp_path)
    path = volume_source({"name": "scratch", "emptyDir": {}}, pod)
    assert path == pod.volume("scratch")
    assert stat.S_IMODE(path.stat().st_mode) == 0o777


def test_an_empty_dir_keeps_its_files_when_a_container_starts_again(tmp_path: Path) -> None:
    volume = {"name": "scratch", "emptyDir": {}}
    (volume_source(volume, PodDirectory(tmp_path)) / "step").write_text("7")
    assert (volume_source(volume, PodDirectory(tmp_path)) / "step").read_text() == "7"


def test_empty_dirs_in_memory_have_their_size_limit() -> None:
    volumes = [
        {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}},
        {"name": "unlimited", "emptyDir": {"medium": "Memory"}},
        {"name": "disk", "emptyDir": {"sizeLimit": "1Gi"}},
        {"name": "host", "hostPath": {"path": "/data"}},
    ]
    assert memory_volumes({"volumes": volumes}) == {"shm": "1Gi", "unlimited": ""}


@pytest.mark.parametrize("kind", ["Directory", "File", "Socket"])
def test_a_host_path_of_the_wrong_kind_is_refused(tmp_path: Path, kind: str) -> None:
    source = {"name": "v", "hostPath": {"path": str(tmp_path / "none"), "type": kind}}
    with pytest.raises(MissingSourceError, match="hostPath type check failed"):
        volume_source(source, PodDirectory(tmp_path))


def test_a_volume_of_an_unknown_kind_is_named(tmp_path: Path) -> None:
    with pytest.raises(MissingSourceError, match="volume type nfs is not supported by this node"):
        volume_source({"name": "v", "nfs": {"server": "x"}}, PodDirectory(tmp_path))
