"""What pods use, by the processes of their containers."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from shunter.cluster.node.server.usage import Process, Usage, machine_usage, processes, usages

linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


def test_a_container_is_all_processes_below_its_supervisor() -> None:
    table = {
        1: Process(0, 9.0, 900),
        5: Process(1, 1.0, 10),
        6: Process(5, 2.0, 20),
        7: Process(6, 4.0, 40),
        8: Process(1, 8.0, 80),
    }
    assert usages([5, 99], table) == {5: Usage(7.0, 70)}


@pytest.mark.integration
@linux
def test_processes_of_this_machine_are_seen_with_their_use() -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", "x = bytearray(50_000_000)\nprint(1, flush=True)\ninput()"], stdin=-1, stdout=-1
    )
    try:
        assert child.stdout is not None
        child.stdout.readline()
        table = processes()
        assert table[child.pid].parent == os.getpid()
        assert 50_000_000 <= table[child.pid].memory < 500_000_000
        assert usages([os.getpid()], table)[os.getpid()].memory > table[child.pid].memory
        assert machine_usage().seconds > 0
    finally:
        child.communicate(b"\n")
