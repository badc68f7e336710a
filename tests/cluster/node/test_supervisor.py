"""What the supervisor of a container writes down, and when."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from shunter.cluster.node.launch import attempt, supervisor


def test_how_a_container_ended_is_written_once_the_disk_has_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refusals = iter([OSError(errno.ENOSPC, "No space left on device")])
    write_json = attempt.write_json

    def written(path: str, value: Any) -> None:
        for refusal in refusals:
            raise refusal
        write_json(path, value)

    monkeypatch.setattr(attempt, "write_json", written)
    monkeypatch.setattr(supervisor, "_FULL_DISK_SECONDS", 0.0)
    ended = supervisor._Supervisor.__new__(supervisor._Supervisor)
    ended._directory, ended._state = str(tmp_path), {}
    ended._events = os.open("/dev/null", os.O_WRONLY)
    ended.record_end(exit_code=0)
    os.close(ended._events)
    assert attempt.read_json(f"{tmp_path}/state.json") == {"exit_code": 0}
