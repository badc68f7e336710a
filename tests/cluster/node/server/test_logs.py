"""Writing and reading container logs."""

from __future__ import annotations

import asyncio
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from full_disk import SmallDisk
from shunter.cluster.node.file_watch import FileWatch
from shunter.cluster.node.launch import log_writer
from shunter.cluster.node.launch.log_writer import MAX_LINE, LogWriter
from shunter.cluster.node.server.kubelet_api import log_options
from shunter.cluster.node.server.logs import LogOptions, last_lines, read_log


async def text(path: Path, options: LogOptions) -> str:
    return b"".join([block async for block in read_log(path, options, is_over=lambda: True)]).decode()


def written(path: Path, *chunks: bytes, max_bytes: int = 1 << 20) -> None:
    writer = LogWriter(str(path), max_bytes=max_bytes)
    for chunk in chunks:
        writer.write("stdout", chunk)
    writer.close()


@pytest.mark.parametrize(
    ("chunks", "options", "expected"),
    [
        pytest.param([b"a\nb", b"c\n"], LogOptions(), "a\nbc\n", id="lines-are-put-together"),
        pytest.param([b"a\nb"], LogOptions(), "a\nb", id="an-unfinished-line-stays-unfinished"),
        pytest.param([b"1\n2\n3\n"], LogOptions(tail_lines=2), "2\n3\n", id="tail"),
        pytest.param([b"1\n2\n"], LogOptions(tail_lines=0), "", id="tail-nothing"),
        pytest.param([b"12345\n"], LogOptions(limit_bytes=3), "123", id="limit"),
        pytest.param(
            [b"x" * (MAX_LINE + 5) + b"\ny\n"], LogOptions(tail_lines=2), "x" * (MAX_LINE + 5) + "\ny\n", id="long-line"
        ),
        pytest.param([b"\xff\n"], LogOptions(follow=True, tail_lines=5), None, id="bytes-that-are-no-text"),
    ],
)
async def test_what_was_written_is_read(tmp_path: Path, chunks: list[bytes], options: LogOptions, expected: str | None) -> None:
    written(tmp_path / "log", *chunks)
    blocks = [block async for block in read_log(tmp_path / "log", options, is_over=lambda: True)]
    assert b"".join(blocks) == (b"\xff\n" if expected is None else expected.encode())


async def test_timestamps_are_rfc3339_and_since_filters_by_them(tmp_path: Path) -> None:
    written(tmp_path / "log", b"a\n")
    stamp = (await text(tmp_path / "log", LogOptions(timestamps=True))).split()[0]
    moment = datetime.fromisoformat(stamp[:26] + "+00:00")
    assert abs(datetime.now(UTC) - moment) < timedelta(minutes=1)
    assert await text(tmp_path / "log", LogOptions(since=moment - timedelta(seconds=1))) == "a\n"
    elsewhere = timezone(timedelta(hours=2))
    assert await text(tmp_path / "log", LogOptions(since=(moment + timedelta(seconds=1)).astimezone(elsewhere))) == ""
    assert await text(tmp_path / "log", LogOptions(since=(moment - timedelta(seconds=1)).astimezone(elsewhere))) == "a\n"


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


async def test_a_log_is_watched_also_where_nothing_is_left_to_watch_with(tmp_path: Path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, limits[1]))
    try:
        watch = FileWatch(tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    with watch:
        await watch.changed(within=0.01)


async def test_rotation_bounds_the_disk_and_reading_spans_it(tmp_path: Path) -> None:
    written(tmp_path / "log", *(b"line %03d\n" % number for number in range(100)), max_bytes=400)
    assert len(list(tmp_path.iterdir())) == 5
    lines = (await text(tmp_path / "log", LogOptions())).splitlines()
    assert lines == [f"line {number:03d}" for number in range(100 - len(lines), 100)]
    assert len(lines) > 20


async def test_following_crosses_a_rotation_and_ends_with_the_container(tmp_path: Path) -> None:
    writer = LogWriter(str(tmp_path / "log"), max_bytes=200)
    over = False
    writer.write("stdout", b"0\n")

    async def follow() -> str:
        return b"".join([b async for b in read_log(tmp_path / "log", LogOptions(follow=True), is_over=lambda: over)]).decode()

    follower = asyncio.create_task(follow())
    for number in range(1, 10):
        await asyncio.sleep(0.01)
        writer.write("stdout", b"%d\n" % number)
    over = True
    writer.close()
    (tmp_path / "state.json").touch()
    async with asyncio.timeout(5):
        assert await follower == "".join(f"{number}\n" for number in range(10))


def test_the_end_of_a_log_is_a_termination_message(tmp_path: Path) -> None:
    written(tmp_path / "log", b"".join(b"%d\n" % number for number in range(100)))
    assert last_lines(tmp_path / "log", lines=2, max_bytes=100) == "98\n99\n"
    assert last_lines(tmp_path / "none", lines=2, max_bytes=100) == ""


def test_all_of_a_log_is_younger_than_any_number_of_seconds() -> None:
    options, _ = log_options({"sinceSeconds": str(2**63 - 1)}, datetime.now(UTC))
    assert options.since == datetime.fromtimestamp(0, UTC)
