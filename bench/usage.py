"""Memory and processor time of processes, from /proc."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

MIB = 1024 * 1024
_TICKS = os.sysconf("SC_CLK_TCK")


def resident(pids: Iterable[int]) -> float:
    """Sum of resident set sizes in MiB: shared pages count once for each process."""
    return sum(_smaps(pid, "Rss") for pid in pids)


def proportional(pids: Iterable[int]) -> float:
    """Sum of proportional set sizes in MiB: shared pages are divided among those who share them."""
    return sum(_smaps(pid, "Pss") for pid in pids)


def processor_seconds(pids: Iterable[int]) -> float:
    """User and system time of the processes so far, in seconds."""
    total = 0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
        total += int(fields[11]) + int(fields[12])
    return total / _TICKS


def _smaps(pid: int, field: str) -> float:
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) * 1024 / MIB
    raise ValueError(f"process {pid} tells no {field}")


def peak_resident(pid: int) -> float:
    """The largest resident set that a process has had so far, in MiB."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024 / MIB
    raise ValueError(f"process {pid} tells no VmHWM")
