"""What a container writes is kept: rotated, counted where it is lost, and written late where the disk was full."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cluster.node.container_logs import text, written
from full_disk import SmallDisk
from shunter.cluster.node.launch import log_writer
from shunter.cluster.node.launch.log_writer import LogWriter
from shunter.cluster.node.server.logs import LogOptions


@contextmanager
def no_more_than(size: int) -> Iterator[None]:
    """Files cannot grow beyond `size` bytes, which to who writes them is like a full disk."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk is tried again with every line."""
    monkeypatch.setattr(log_writer, "RETRY_SECONDS", 0.0)


@pytest.mark.usefixtures("at_once")
async def test_what_a_full_disk_does_not_take_is_written_once_it_has_room(tmp_path: Path) -> None:
    writer = LogWriter(str(tmp_path / "log"))
    writer.write("stdout", b"before\n")
    with no_more_than(100):
        writer.write("stdout", b"kept" * 100 + b"\n")
        was_behind = writer.is_behind
        assert was_behind
        assert await text(tmp_path / "log", LogOptions()) == "before\n"
    writer.write("stderr", b"after\n")
    assert not writer.is_behind
    writer.close()
    assert await text(tmp_path / "log", LogOptions()) == f"before\n{'kept' * 100}\nafter\n"


@pytest.mark.usefixtures("at_once")
async def test_lines_that_are_lost_to_a_full_disk_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_writer, "WAITING_BYTES", 300)
    writer = LogWriter(str(tmp_path / "log"))
    with no_more_than(10):
        for number in range(20):
            writer.write("stdout", b"line %02d\n" % number)
    writer.close()
    said = (await text(tmp_path / "log", LogOptions())).splitlines()
    kept = [f"line {number:02d}" for number in range(20)][-len(said) + 1 :]
    assert said == [f"shunter: {20 - len(kept)} lines of this log are lost: the disk was full.", *kept]
    assert 1 < len(kept) < 20
    stamps = [line.split()[0] for line in (await text(tmp_path / "log", LogOptions(timestamps=True))).splitlines()]
    assert stamps == sorted(stamps)


@pytest.mark.integration
async def test_a_log_on_a_full_disk_loses_none_of_its_older_files(small_disk: SmallDisk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rotation moves files first to last: it must not begin where it cannot end."""
    monkeypatch.setattr(log_writer, "RETRY_SECONDS", 0.0)
    log = small_disk.path / "log"
    writer = LogWriter(str(log), max_bytes=4000)
    lines = [f"line {number:04d} {'x' * 80}" for number in range(100)]
    for line in lines[:70]:
        writer.write("stdout", line.encode() + b"\n")
    small_disk.fill()
    for line in lines[70:]:
        writer.write("stdout", line.encode() + b"\n")
    assert writer.is_behind
    small_disk.make_room()
    writer.close()
    kept = (await text(log, LogOptions())).splitlines()
    assert kept == lines[-len(kept) :]
    assert len(kept) > 70
    assert sum(file.stat().st_size for file in small_disk.path.iterdir()) < 5 * 4000 + 4000


async def test_a_full_disk_costs_a_chatty_container_no_time(tmp_path: Path) -> None:
    """It is tried twice a second, not with every line; so no call here writes."""
    writer = LogWriter(str(tmp_path / "log"))
    with no_more_than(10):
        writer.write("stdout", b"first\n")
        (tmp_path / "log").unlink()
    writer.write("stdout", b"second\n")
    assert writer.is_behind
    writer.close()


async def test_rotation_bounds_the_disk_and_reading_spans_it(tmp_path: Path) -> None:
    written(tmp_path / "log", *(b"line %03d\n" % number for number in range(100)), max_bytes=400)
    assert len(list(tmp_path.iterdir())) == 5
    lines = (await text(tmp_path / "log", LogOptions())).splitlines()
    assert lines == [f"line {number:03d}" for number in range(100 - len(lines), 100)]
    assert len(lines) > 20
