"""When a disk is short of room, and how that is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from full_disk import SmallDisk
from shunter.cluster.disk_space import DiskSpace, amount, disk_space, shortage

GIB = 2**30


@pytest.mark.parametrize(
    ("space", "said"),
    [
        pytest.param(DiskSpace(10 * GIB, 100 * GIB), "", id="room enough"),
        pytest.param(DiskSpace(6 * GIB, 200 * GIB), "the disk of /s has 6.0 GiB of 200.0 GiB left", id="below 5 %"),
        pytest.param(DiskSpace(GIB - 1, 4 * GIB), "the disk of /s has 1023 MiB of 4.0 GiB left", id="below 1 GiB"),
        pytest.param(DiskSpace(0, 4 * GIB), "the disk of /s has 0 bytes of 4.0 GiB left", id="full"),
        pytest.param(DiskSpace(50 * GIB, 100 * GIB, 9, 1000), "room for 9 more files (inodes)", id="out of inodes"),
        pytest.param(DiskSpace(50 * GIB, 100 * GIB, 0, 0), "", id="a file system without inodes"),
    ],
)
def test_what_is_warned_of(space: DiskSpace, said: str) -> None:
    found = shortage(Path("/s"), space)
    assert (said in found) if said else (found == "")


@pytest.mark.integration
def test_the_file_system_is_asked(small_disk: SmallDisk) -> None:
    before = disk_space(small_disk.path)
    assert before.total == 64 * 2**20
    assert before.free > 60 * 2**20
    small_disk.fill()
    assert disk_space(small_disk.path).free == 0


@pytest.mark.parametrize(("count", "text"), [(5, "5 bytes"), (2**20, "1 MiB"), (int(1.5 * GIB), "1.5 GiB"), (2**41, "2.0 TiB")])
def test_amounts(count: int, text: str) -> None:
    assert amount(count) == text
