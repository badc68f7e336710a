"""What the supervisor of a container writes down, and when."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from full_disk import SmallDisk
from shunter.cluster.node.launch import attempt
from shunter.cluster.node.pod import container_attempts

pytestmark = pytest.mark.integration

_RUN = """
import os, sys
from shunter.cluster.node.launch import supervisor
supervisor.supervise(sys.argv[1], os.open(sys.argv[1] + "/events", os.O_WRONLY))
"""

_RUN_SPARE = """
import os, socket, sys
from shunter.cluster.node.launch import supervisor
from shunter.cluster.node.launch.standard_streams import StandardStreams

def streams(**given):
    os.remove(sys.argv[1] + "/spec.json")
    return StandardStreams(**given)

supervisor.StandardStreams = streams
spare = supervisor.SpareContainer(lambda *_: "", socket.socket())
supervisor.supervise(sys.argv[1], os.open(sys.argv[1] + "/events", os.O_WRONLY), None, spare)
"""


def until(condition: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.01)


@contextmanager
def supervised(
    directory: Path, *argv: str, first: Callable[[], None] = lambda: None, run: str = _RUN
) -> Iterator[subprocess.Popen[bytes]]:
    """The supervisor of a plain attempt in `directory`, with an agent that listens. `first` is done just before it starts."""
    directory.mkdir()
    (directory / "log").touch()
    spec: dict[str, Any] = {"level": "plain", "argv": argv, "env": {"PATH": os.environ["PATH"]}, "cwd": str(directory)}
    spec |= {"unknown_program": "", "cgroup_files": [], "oom_files": [], "stdin": False, "stdin_once": False, "terminal": False}
    attempt.write_json(str(directory / "spec.json"), spec)
    for name in ("control", "events"):
        os.mkfifo(directory / name)
    listening = os.open(directory / "events", os.O_RDONLY | os.O_NONBLOCK)
    first()
    process = subprocess.Popen([sys.executable, "-c", run, str(directory)])
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        os.close(listening)


def state(directory: Path) -> dict[str, Any]:
    return attempt.read_json(str(directory / "state.json")) or {}


def log(directory: Path) -> list[str]:
    return [line.split(" ", 3)[3] for line in (directory / "log").read_text().splitlines()]


@pytest.mark.parametrize(
    ("data", "told"),
    [
        pytest.param(b".", None, id="the file is right"),
        pytest.param(b'{"pid": 2}\n', {"pid": 2}, id="it cannot be written"),
        pytest.param(b'.{"pid": 2}\n{"pid": 2, "exit_code": 0}\n', {"pid": 2, "exit_code": 0}, id="the last word counts"),
        pytest.param(b'{"started_at": 1.5}\n.', None, id="it was written meanwhile"),
        pytest.param(b"", {"pid": 1}, id="the end of file changes nothing"),
    ],
)
def test_what_the_agent_is_told_of_a_state(data: bytes, told: object) -> None:
    assert attempt.reported_state(data, {"pid": 1}) == told


def test_a_state_that_a_crash_of_the_machine_left_empty_is_none(tmp_path: Path) -> None:
    (tmp_path / "state.json").touch()
    assert container_attempts.observed(tmp_path, 0, {}, alive=False) is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may make process namespaces")
def test_a_process_that_was_ready_says_when_it_cannot_read_what_to_become(tmp_path: Path) -> None:
    with supervised(tmp_path / "0", "true", run=_RUN_SPARE):
        until(lambda: "exit_code" in state(tmp_path / "0"), "no end was recorded")
    assert state(tmp_path / "0")["error"].endswith(f"during container init: No such file or directory: {tmp_path}/0/spec.json")
    assert state(tmp_path / "0")["exit_code"] == 128


def test_how_a_container_ended_is_told_while_it_cannot_be_written(small_disk: SmallDisk) -> None:
    directory = small_disk.path / "0"
    with supervised(directory, "sh", "-c", "exit 3", first=small_disk.fill):
        events = os.open(directory / "events", os.O_RDONLY)
        told: dict[str, Any] = {}
        while "exit_code" not in told:
            told = attempt.reported_state(os.read(events, 65536), told)
        os.close(events)
        assert (told["exit_code"], state(directory)) == (3, {})
        small_disk.make_room()
        until(lambda: state(directory).get("exit_code") == 3, "written")


def test_a_container_trains_through_a_full_disk_and_loses_nothing(small_disk: SmallDisk, tmp_path: Path) -> None:
    directory, done = small_disk.path / "0", tmp_path / "done"
    script = f"echo begun; while [ ! -e {tmp_path}/full ]; do sleep .01; done; echo meanwhile; touch {done}"
    with supervised(directory, "sh", "-c", script) as process:
        until(lambda: "started_at" in state(directory), "started")
        small_disk.fill()
        (tmp_path / "full").touch()
        until(done.exists, "it worked on while its log could not be written")
        assert "exit_code" not in state(directory)
        small_disk.make_room()
        assert process.wait(20) == 0
    assert state(directory)["exit_code"] == 0
    assert log(directory) == ["begun", "meanwhile"]


def test_a_container_that_starts_on_a_full_disk_runs_and_is_recorded_later(small_disk: SmallDisk, tmp_path: Path) -> None:
    directory, running = small_disk.path / "0", tmp_path / "running"
    with supervised(directory, "sh", "-c", f"echo hello; touch {running}; exec sleep 600", first=small_disk.fill):
        until(running.exists, "it runs")
        assert (state(directory), log(directory)) == ({}, [])
        small_disk.make_room()
        until(lambda: "started_at" in state(directory), "recorded once there is room")
        until(lambda: log(directory) == ["hello"], "so is its output")


def test_a_program_that_does_not_exist_is_told_once_there_is_room(small_disk: SmallDisk) -> None:
    directory = small_disk.path / "0"
    with supervised(directory, "no-such-program", first=small_disk.fill) as process:
        until((directory / "state.json.new").exists, "it tried")
        small_disk.make_room()
        assert process.wait(20) == 0
    assert "executable file not found" in state(directory)["error"]


def test_nothing_of_a_container_outlives_its_pod_on_a_full_disk(small_disk: SmallDisk) -> None:
    directory = small_disk.path / "0"
    with supervised(directory, "sh", "-c", "echo hello; sleep .1", first=small_disk.fill) as process:
        until((directory / "state.json.new").exists, "it tried")

        def is_removed() -> bool:
            shutil.rmtree(directory, ignore_errors=True)  # it writes beside that, until its directory is gone
            return not directory.exists()

        until(is_removed, "removed")
        small_disk.fill()
        assert process.wait(20) is not None


def test_a_container_that_is_stopped_to_make_room_ends_though_nothing_can_be_recorded(small_disk: SmallDisk) -> None:
    directory = small_disk.path / "0"

    def is_over() -> bool:
        """Asks for its end again and again, as the agent does when the grace period is over."""
        attempt.send_control(str(directory), attempt.KILL)
        return process.poll() is not None

    with supervised(directory, "sh", "-c", "trap 'exit 3' TERM; echo begun; while :; do sleep .01; done") as process:
        until(lambda: log(directory) == ["begun"], "started")
        small_disk.fill()
        until(is_over, "over")
    assert "exit_code" not in state(directory)
