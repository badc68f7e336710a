"""How a container's root is put together."""

from __future__ import annotations

import io
import os
import uuid
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


def refuse(*_: str) -> None:
    raise OSError(22, "Invalid argument")


@pytest.mark.parametrize("refused", [False, True])
def test_a_driver_that_is_mounted_as_an_image_is_shown(tmp_path: Path, refused: bool) -> None:
    """CUDA's driver on a squashfs was missing in pods, and trainings that had been given a GPU ran on the CPU, without a word."""
    image, driver, root = tmp_path / "image", tmp_path / "driver", tmp_path / "root"
    for place in (image, driver, root):
        place.mkdir()
    (image / "libcuda.so.1").touch()
    rootfs._overlay(str(image), str(tmp_path / "upper"), str(tmp_path / "work"), str(driver))
    (root / str(driver)[1:]).mkdir(parents=True)
    mounted = [(str(driver), "overlay")]
    assert set(mounted) <= set(rootfs._host_mounts([]))
    try:
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(rootfs, "_host_mounts", lambda hidden: mounted)
            if refused:  # as the kernel does, of overlays over overlays
                patched.setattr(rootfs, "_overlay", refuse)
            rootfs._add_host_mounts(str(tmp_path), str(root), [])
        shown = root / str(driver)[1:] / "libcuda.so.1"
        if refused:
            with pytest.raises(OSError, match="Read-only"):
                shown.write_text("other")
        else:
            shown.write_text("other")
        assert not (driver / "libcuda.so.1").read_text()
        assert shown.exists()
    finally:
        for mounted_place in removal.mounts_below(str(tmp_path)):
            linux.unmount(mounted_place)


OTHERS_POD = "/home/me/.local/state/shunter/other/node/pods/2640e2b1-9e04-4c7a-b5a9-7db237b15afd"


@pytest.mark.parametrize("place", ["/snap/core/1", "/var/lib/docker/overlay2/a/merged", f"{OTHERS_POD}/shm"])
def test_images_and_pods_of_others_are_left_out(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    table = f"29 27 254:16 / {place} ro,relatime - squashfs /dev/vdb ro\n30 27 254:17 / /opt/driver ro - squashfs /dev/vdc ro\n"
    monkeypatch.setattr(rootfs, "open", lambda *_, **__: io.StringIO(table), raising=False)
    assert rootfs._host_mounts([]) == [("/opt/driver", "squashfs")]


def test_a_device_of_a_driver_is_the_file_of_the_machine(tmp_path: Path) -> None:
    device = Path(f"/dev/nvidia-{uuid.uuid4().hex[:8]}")
    device.touch()
    root = tmp_path / "root"
    (root / "dev").mkdir(parents=True)
    try:
        rootfs._add_devices(str(tmp_path), str(root))
        assert os.path.samefile(root / "dev" / device.name, device)
        (root / "dev" / "own").touch()
        assert not Path("/dev/own").exists()
    finally:
        for mounted_place in removal.mounts_below(str(tmp_path)):
            linux.unmount(mounted_place)
        device.unlink()


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


@pytest.mark.parametrize("is_refused", [False, True])
def test_the_end_of_a_layer_writes_nothing_to_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_refused: bool) -> None:
    """Its end wrote all that the machine had in memory for that disk. Kernels before 5.10 refuse the option."""
    mount = linux.mount

    def old_kernel(source: str, target: str, fstype: str = "", flags: int = 0, options: str = "") -> None:
        if "volatile" in options:
            raise OSError(22, "Invalid argument")
        mount(source, target, fstype, flags, options)

    if is_refused:
        monkeypatch.setattr(linux, "mount", old_kernel)
    target = tmp_path / "target"
    target.mkdir()
    rootfs._overlay("/usr", str(tmp_path / "upper"), str(tmp_path / "work"), str(target))
    try:
        assert os.listdir(target) == os.listdir("/usr")
        (line,) = (line for line in Path("/proc/self/mountinfo").read_text().splitlines() if f" {target} " in line)
        assert ("volatile" in line) is not is_refused
    finally:
        linux.unmount(str(target))
        removal.delete_tree(str(tmp_path / "work"))
    assert not (tmp_path / "work").exists()


def test_what_another_has_unmounted_meanwhile_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "place").mkdir()
    monkeypatch.setattr(removal, "mounts_below", lambda directory: [f"{directory}/place", f"{directory}/gone"])
    removal.remove_trees({"directories": [str(tmp_path)]})
    assert not tmp_path.exists()
