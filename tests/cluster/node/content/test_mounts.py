"""Where volumes are mounted, and which may not be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from shunter.cluster.node.content.mounts import Mount, container_mounts, uncovered
from shunter.cluster.node.content.references import MissingSourceError
from shunter.cluster.node.content.volumes import read_only_volumes, sealed_volumes

POD: Any = {
    "metadata": {"name": "p", "labels": {}},
    "spec": {
        "initContainers": [{"name": "i", "resources": {"limits": {"cpu": "1"}}}],
        "containers": [{"name": "c", "resources": {"limits": {"cpu": "2"}}}],
    },
}


def test_mounts_are_outermost_first_and_without_symlinks(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    container = {
        "volumeMounts": [
            {"name": "v", "mountPath": "/a/b/c", "subPathExpr": "$(POD)/x"},
            {"name": "v", "mountPath": "a/", "readOnly": True},
        ]
    }
    mounts = container_mounts(container, {"v": tmp_path / "link"}, {"POD": "p"})
    assert [(mount.source, mount.target, mount.read_only) for mount in mounts] == [
        (str(tmp_path / "real"), "/a", True),
        (str(tmp_path / "real/p/x"), "/a/b/c", False),
    ]


VENV = "/home/ann/project/.venv"


@pytest.mark.parametrize(
    ("mounts", "shown"),
    [
        pytest.param([Mount("/v", "/data", False)], False, id="elsewhere"),
        pytest.param([Mount("/v", "/home/ann/pro", False)], False, id="a-name-that-begins-alike"),
        pytest.param([Mount("/v", "/home/ann", False)], True, id="above"),
        pytest.param([Mount("/v", VENV, False)], False, id="the-tree-itself"),
        pytest.param([Mount("/home/ann", "/home/ann", False)], False, id="the-same-directory"),
        pytest.param([Mount("/v", "/home/ann", True)], False, id="read-only"),
        pytest.param([Mount("/v", "/home", False), Mount("/w", "/home/ann", True)], False, id="read-only-is-nearer"),
        pytest.param([Mount("/home", "/home", True), Mount("/w", "/home/ann", False)], True, id="read-only-is-farther"),
    ],
)
def test_an_image_is_shown_again_where_a_volume_hides_it(mounts: list[Mount], *, shown: bool) -> None:
    assert uncovered([VENV, VENV], mounts) == ([Mount(VENV, VENV, True)] if shown else [])


def test_who_may_write_to_a_volume_may_write_to_a_sub_path_that_is_made(tmp_path: Path) -> None:
    volume = tmp_path / "v"
    volume.mkdir()
    volume.chmod(0o2777)
    container_mounts({"volumeMounts": [{"name": "v", "mountPath": "/m", "subPath": "a/b"}]}, {"v": volume}, {})
    assert [oct((volume / made).stat().st_mode & 0o7777) for made in ("a", "a/b")] == ["0o2777", "0o2777"]


def test_a_sub_path_may_not_leave_its_volume(tmp_path: Path) -> None:
    (tmp_path / "v").mkdir()
    (tmp_path / "v" / "out").symlink_to("/etc")
    container = {"volumeMounts": [{"name": "v", "mountPath": "/m", "subPath": "out/passwd"}]}
    with pytest.raises(MissingSourceError, match="leads out of its volume"):
        container_mounts(container, {"v": tmp_path / "v"}, {})


def test_a_claim_that_is_only_read_is_mounted_so(tmp_path: Path) -> None:
    container = {"volumeMounts": [{"name": "v", "mountPath": "/v"}, {"name": "w", "mountPath": "/w"}]}
    spec = {
        "volumes": [
            {"name": "v", "persistentVolumeClaim": {"claimName": "data", "readOnly": True}},
            {"name": "w", "emptyDir": {}},
        ]
    }
    mounts = container_mounts(container, {"v": tmp_path, "w": tmp_path}, {}, read_only=read_only_volumes(spec))
    assert {mount.target: mount.read_only for mount in mounts} == {"/v": True, "/w": False}


@pytest.mark.parametrize("kind", ["configMap", "secret", "downwardAPI", "projected"])
def test_what_is_made_from_objects_is_sealed_when_all_is_mounted(tmp_path: Path, kind: str) -> None:
    container = {"volumeMounts": [{"name": "v", "mountPath": "/v", "readOnly": True}, {"name": "w", "mountPath": "/v/w"}]}
    spec = {"volumes": [{"name": "v", kind: {}}, {"name": "w", "emptyDir": {}}]}
    mounts = container_mounts(container, {"v": tmp_path, "w": tmp_path}, {}, sealed=sealed_volumes(spec))
    assert [(mount.target, mount.read_only, mount.sealed) for mount in mounts] == [("/v", False, True), ("/v/w", False, False)]
