"""What containers use of the machine, from /proc: processor time and memory of every process below their supervisors."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import NamedTuple

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


class Process(NamedTuple):
    """One process: `seconds` of processor time with those of the children it has waited for, `memory` bytes of its own."""

    parent: int
    seconds: float
    memory: int


class Usage(NamedTuple):
    """What was used up to now: seconds of processor time; bytes now."""

    seconds: float = 0.0
    memory: int = 0


def processes(proc: str = "/proc") -> dict[int, Process]:
    """Every process of this machine; none where the kernel shows them otherwise."""
    found: dict[int, Process] = {}
    with suppress(FileNotFoundError):
        for name in os.listdir(proc):
            if name.isdecimal():
                with suppress(OSError, ValueError, IndexError):
                    found[int(name)] = _read(f"{proc}/{name}")
    return found


def usages(roots: Iterable[int], table: Mapping[int, Process]) -> dict[int, Usage]:
    """What each of these processes uses with all below it; those that are not there (any more) are left out."""
    children: dict[int, list[int]] = {}
    for pid, process in table.items():
        children.setdefault(process.parent, []).append(pid)
    return {root: _total(root, table, children) for root in roots if root in table}


def machine_usage(proc: str = "/proc") -> Usage:
    """What the whole machine uses."""
    try:
        with open(f"{proc}/stat") as file:
            user, nice, system, _, _, irq, soft_irq, *_ = (int(field) for field in file.readline().split()[1:])
        with open(f"{proc}/meminfo") as file:
            sizes = {name: int(rest.split()[0]) for name, _, rest in (line.partition(":") for line in file)}
    except FileNotFoundError:
        return Usage()
    return Usage((user + nice + system + irq + soft_irq) / _TICKS, (sizes["MemTotal"] - sizes["MemAvailable"]) * 1024)


def _total(root: int, table: Mapping[int, Process], children: Mapping[int, list[int]]) -> Usage:
    seconds, memory = 0.0, 0
    waiting = [root]
    while waiting:
        pid = waiting.pop()
        seconds += table[pid].seconds
        memory += table[pid].memory
        waiting += children.get(pid, ())
    return Usage(seconds, memory)


def _read(directory: str) -> Process:
    with open(f"{directory}/stat", "rb") as file:
        # The name, in parentheses, may hold anything.
        fields = file.read().rpartition(b")")[2].split()
    with open(f"{directory}/statm", "rb") as file:
        _, resident, shared, *_ = (int(field) for field in file.read().split())
    ticks = sum(int(field) for field in fields[11:15])
    # Files that several processes map, such as libraries, are the machine's and not theirs.
    return Process(int(fields[1]), ticks / _TICKS, (resident - shared) * _PAGE)
