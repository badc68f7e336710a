"""Reading container logs."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from cluster.node.container_logs import text, written
from shunter.cluster.node.launch.log_writer import MAX_LINE, LogWriter
from shunter.cluster.node.server.kubelet_api import LogUnavailableError, log_options
from shunter.cluster.node.server.logs import LogOptions, last_lines, read_log


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


async def test_a_line_that_is_followed_while_it_is_written_has_one_timestamp(tmp_path: Path) -> None:
    writer = LogWriter(str(tmp_path / "log"))
    writer.write("stdout", b"x" * MAX_LINE)
    over = False
    blocks = read_log(tmp_path / "log", LogOptions(follow=True, timestamps=True), is_over=lambda: over)
    begin = await anext(blocks)
    writer.write("stdout", b"y\nz\n")
    writer.close()
    over = True
    rest = b"".join([block async for block in blocks])
    assert begin.partition(b" ")[2] == b"x" * MAX_LINE
    first, second, _ = rest.split(b"\n")
    assert (first, second.partition(b" ")[2]) == (b"y", b"z")


def test_the_end_of_a_log_is_a_termination_message(tmp_path: Path) -> None:
    written(tmp_path / "log", b"".join(b"%d\n" % number for number in range(100)))
    assert last_lines(tmp_path / "log", lines=2, max_bytes=100) == "98\n99\n"
    assert last_lines(tmp_path / "none", lines=2, max_bytes=100) == ""


def test_all_of_a_log_is_younger_than_any_number_of_seconds() -> None:
    options, _ = log_options({"sinceSeconds": str(2**63 - 1)}, datetime.now(UTC))
    assert options.since == datetime.fromtimestamp(0, UTC)


@pytest.mark.parametrize(("value", "is_set"), [("true", True), ("yes", True), ("tRue", True), ("0", False), ("False", False)])
def test_a_switch_means_what_it_means_to_the_api_server(value: str, is_set: bool) -> None:
    options, previous = log_options({"follow": value, "timestamps": value, "previous": value}, datetime.now(UTC))
    assert (options.follow, options.timestamps, previous) == (is_set, is_set, is_set)


def test_a_time_without_a_zone_is_no_beginning_of_a_log() -> None:
    with pytest.raises(LogUnavailableError, match='cannot parse "" as "Z07:00"'):
        log_options({"sinceTime": "2026-11-21T10:00:00.5"}, datetime.now(UTC))
