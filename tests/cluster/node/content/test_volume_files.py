"""Files of volumes made from API objects."""

from __future__ import annotations

import base64
import os
from pathlib import Path
from typing import Any

import pytest

from full_disk import SmallDisk
from shunter.cluster.node.content.downward import PodContext
from shunter.cluster.node.content.references import MissingSourceError, Sources, TokenKey
from shunter.cluster.node.content.volume_files import VolumeFile, volume_files, write_files

CONTEXT = PodContext("10.1.0.2", "10.0.0.1", {})
SOURCES = Sources(
    {"cm": {"data": {"a": "A", "b": "B"}, "binaryData": {"c": base64.b64encode(b"\xff").decode()}}},
    {"s": {"data": {"k": base64.b64encode(b"K").decode()}}},
    {TokenKey("", 3600): "token"},
)
POD: Any = {
    "metadata": {"name": "p", "labels": {}},
    "spec": {
        "initContainers": [{"name": "i", "resources": {"limits": {"cpu": "1"}}}],
        "containers": [{"name": "c", "resources": {"limits": {"cpu": "2"}}}],
    },
}


@pytest.mark.parametrize(
    ("volume", "expected"),
    [
        pytest.param(
            {"configMap": {"name": "cm"}}, {"a": (b"A", 0o644), "b": (b"B", 0o644), "c": (b"\xff", 0o644)}, id="whole-configmap"
        ),
        pytest.param(
            {
                "configMap": {
                    "name": "cm",
                    "defaultMode": 0o600,
                    "items": [{"key": "a", "path": "x/y"}, {"key": "b", "path": "z", "mode": 0o755}],
                }
            },
            {"x/y": (b"A", 0o600), "z": (b"B", 0o755)},
            id="items-and-modes",
        ),
        pytest.param({"configMap": {"name": "none", "optional": True}}, {}, id="optional-configmap"),
        pytest.param(
            {"configMap": {"name": "cm", "optional": True, "items": [{"key": "z", "path": "z"}]}}, {}, id="optional-key"
        ),
        pytest.param({"secret": {"secretName": "s"}}, {"k": (b"K", 0o644)}, id="secret"),
        pytest.param(
            {
                "downwardAPI": {
                    "items": [
                        {"path": "name", "fieldRef": {"fieldPath": "metadata.name"}},
                        {"path": "cpu", "resourceFieldRef": {"containerName": "c", "resource": "limits.cpu"}},
                        {"path": "init", "resourceFieldRef": {"containerName": "i", "resource": "limits.cpu"}},
                    ]
                }
            },
            {"name": (b"p", 0o644), "cpu": (b"2", 0o644), "init": (b"1", 0o644)},
            id="downward-api",
        ),
        pytest.param(
            {
                "projected": {
                    "sources": [
                        {"configMap": {"name": "cm", "items": [{"key": "a", "path": "a"}]}},
                        {"secret": {"name": "s"}},
                        {"serviceAccountToken": {"path": "token"}},
                    ]
                }
            },
            {"a": (b"A", 0o644), "k": (b"K", 0o644), "token": (b"token", 0o644)},
            id="projected",
        ),
    ],
)
def test_files(volume: Any, expected: dict[str, tuple[bytes, int]]) -> None:
    assert volume_files({"name": "v", **volume}, POD, SOURCES, CONTEXT) == {
        path: VolumeFile(*file) for path, file in expected.items()
    }


@pytest.mark.parametrize(
    ("security", "wanted"),
    [
        pytest.param({"runAsUser": 5}, {"a": (b"A", 0o644), "token": (b"token", 0o600, 5)}, id="one-user"),
        pytest.param({"fsGroup": 6}, {"a": (b"A", 0o644), "token": (b"token", 0o640)}, id="a-group"),
    ],
)
def test_tokens_are_for_the_pods_user_or_group_alone(security: Any, wanted: Any) -> None:
    sources = [{"configMap": {"name": "cm", "items": [{"key": "a", "path": "a"}]}}, {"serviceAccountToken": {"path": "token"}}]
    pod = {**POD, "spec": {**POD["spec"], "securityContext": security}}
    files = volume_files({"name": "v", "projected": {"sources": sources}}, pod, SOURCES, CONTEXT)
    assert files == {path: VolumeFile(*file) for path, file in wanted.items()}


@pytest.mark.parametrize(
    ("volume", "message"),
    [
        pytest.param({"configMap": {"name": "none"}}, 'configmap "none" not found', id="no-configmap"),
        pytest.param({"secret": {"secretName": "none"}}, 'secret "none" not found', id="no-secret"),
        pytest.param(
            {"configMap": {"name": "cm", "items": [{"key": "z", "path": "z"}]}},
            "configmap references non-existent config key: z",
            id="no-key",
        ),
        pytest.param(
            {"configMap": {"name": "cm", "items": [{"key": "a", "path": "../a"}]}},
            "invalid path ../a: must be relative and stay inside the volume",
            id="path-leads-out",
        ),
    ],
)
def test_what_is_missing_is_named(volume: Any, message: str) -> None:
    with pytest.raises(MissingSourceError) as raised:
        volume_files({"name": "v", **volume}, POD, SOURCES, CONTEXT)
    assert str(raised.value) == message


def test_a_change_replaces_all_files_by_one_rename(tmp_path: Path) -> None:
    volume = tmp_path / "v"
    assert write_files(volume, {"a": VolumeFile(b"1", 0o600), "x/b": VolumeFile(b"1", 0o644)})
    before = os.readlink(volume / "..data")
    assert os.readlink(volume / "a") == "..data/a"
    assert not write_files(volume, {"a": VolumeFile(b"1", 0o600), "x/b": VolumeFile(b"1", 0o644)})
    assert os.readlink(volume / "..data") == before
    assert write_files(volume, {"a": VolumeFile(b"2", 0o600)})
    assert (volume / "a").read_bytes() == b"2"
    assert (volume / "a").stat().st_mode & 0o777 == 0o600
    assert sorted(entry for entry in os.listdir(volume) if not entry.startswith("..")) == ["a"]
    assert not (volume / before).exists()


@pytest.mark.integration
def test_a_full_disk_leaves_the_files_as_they_were_and_no_half_of_the_new_ones(small_disk: SmallDisk) -> None:
    volume = small_disk.path / "volume"
    write_files(volume, {"a": VolumeFile(b"1", 0o600)})
    small_disk.fill(leave=64 * 1024)
    larger = {"a": VolumeFile(b"2", 0o600), "b": VolumeFile(b"x" * 100_000, 0o600)}
    with pytest.raises(OSError, match="No space left on device"):
        write_files(volume, larger)
    assert (volume / "a").read_bytes() == b"1"
    assert len([entry for entry in volume.iterdir() if entry.is_dir() and not entry.is_symlink()]) == 1
    small_disk.make_room()
    assert write_files(volume, larger)
    assert (volume / "b").read_bytes() == b"x" * 100_000


def test_a_container_that_is_not_there_is_named() -> None:
    item = {"path": "cpu", "resourceFieldRef": {"containerName": "none", "resource": "limits.cpu"}}
    with pytest.raises(ValueError, match="container none not found"):
        volume_files({"name": "v", "downwardAPI": {"items": [item]}}, POD, SOURCES, CONTEXT)


def test_a_change_goes_on_where_one_was_killed_and_leaves_what_is_not_ours(tmp_path: Path) -> None:
    volume = tmp_path / "v"
    write_files(volume, {"a": VolumeFile(b"1", 0o600), "b": VolumeFile(b"1", 0o600)})
    (volume / "..2026_01_01_00_00_00.1").mkdir()
    (volume / "..data_tmp").symlink_to("..2026_01_01_00_00_00.1")
    (volume / "mounted").mkdir()
    (volume / "link").symlink_to("a")
    assert write_files(volume, {"a": VolumeFile(b"2", 0o600), "c": VolumeFile(b"2", 0o600)})
    assert (volume / "c").read_bytes() == b"2"
    data = os.readlink(volume / "..data")
    assert sorted(os.listdir(volume)) == sorted([data, "..data", "a", "c", "link", "mounted"])
