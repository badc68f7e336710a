"""torch's flight recorders. Each rank has two for its last collectives: NCCL's, and that of other libraries. A worker server
(TORCH_WORKER_SERVER_SOCKET) serves both; NCCL's watchdog dumps its own to files.

The program below runs in the container, with the container's Python: files are pickled, and must not be unpickled here. The names
of the handlers and files are those of torch 2.11 and 2.15; NCCL's by its source only (FlightRecorderDetail.hpp).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from shunter.doctor.evidence import Collective, Recording

PROGRAM = r"""
import http.client, json, os, pickle, socket, sys, time

class Unix(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(5)
        self.sock.connect(self.host)

def report(rank, source, **more):
    print(json.dumps({"rank": rank, "source": source, **more}, default=str))

def answer(address, handler):
    connection = Unix(address)
    connection.request("POST", "/handler/" + handler)
    given = connection.getresponse()
    text = given.read().decode(errors="replace")
    if given.status != 200:
        raise OSError(text[:200])
    return json.loads(text)

def prefixes(pid):
    with open("/proc/%d/environ" % pid, "rb") as file:
        pairs = [one.decode(errors="replace").partition("=") for one in file.read().split(b"\0")]
    environment = {name: value for name, _, value in pairs if value}
    named = environment.get("TORCH_FR_DUMP_TEMP_FILE") or environment.get("TORCH_NCCL_DEBUG_INFO_TEMP_FILE")
    cache = environment.get("XDG_CACHE_HOME") or environment.get("HOME", "/tmp") + "/.cache"
    return [named] if named else [cache + "/torch/comm_lib_trace_rank_", "/tmp/nccl_trace_rank_"]

def started(pid):
    with open("/proc/%d/stat" % pid) as file:
        ticks = int(file.read().rpartition(")")[2].split()[19])
    with open("/proc/uptime") as file:
        return time.time() - float(file.read().split()[0]) + ticks / os.sysconf("SC_CLK_TCK")

for place in json.loads(sys.argv[1]):
    rank, pid = place["rank"], place["pid"]
    for handler in ("dump_nccl_trace_json", "fr_trace_json") if place["socket"] else ():
        try:
            report(rank, handler, dump=answer(place["socket"], handler))
        except (OSError, ValueError, http.client.HTTPException) as error:
            report(rank, handler, error=str(error))
    try:
        for path in [prefix + str(rank) for prefix in prefixes(pid)]:
            if os.path.exists(path) and os.path.getmtime(path) > started(pid) - 1:
                with open(path, "rb") as file:
                    report(rank, "file", dump=pickle.load(file))
    except Exception as error:
        report(rank, "file", error=str(error))
"""
DUMPED = "preparing to dump debug info"
"""What NCCL's watchdog logs before it writes a file."""
FILE = "file"


class Place(NamedTuple):
    """Where to read a rank's flight recorders."""

    rank: int
    pid: int
    socket: str
    """The socket of its worker server; empty if it has none."""


def command(python: str, places: Sequence[Place]) -> list[str]:
    """The command that prints the recordings of one container; `python` is its interpreter."""
    return [python, "-c", PROGRAM, msgspec.json.encode([place._asdict() for place in places]).decode()]


def recordings(outputs: Sequence[str]) -> list[Recording]:
    """The recordings in the outputs of the program: one for each rank, process group and library. Files about a group that a
    worker server reports are left out, as they are older."""
    records = [one for output in outputs for one in _records(output) if isinstance(one.get("dump"), dict)]
    live = [found for one in records if one["source"] != FILE for found in of_dump(int(one["rank"]), one["dump"])]
    groups = {(one.group, one.id) for one in live}
    dumped = [found for one in records if one["source"] == FILE for found in of_dump(int(one["rank"]), one["dump"])]
    return [*live, *(one for one in dumped if (one.group, one.id) not in groups)]


def silent_ranks(outputs: Sequence[str], places: Sequence[Place]) -> dict[int, str]:
    """The ranks with a worker server but no recorded call, each with the reason."""
    given = {one.rank for one in recordings(outputs)}
    errors: dict[int, str] = {}
    answered: set[int] = set()
    for one in (one for output in outputs for one in _records(output)):
        if "error" in one:
            errors.setdefault(int(one["rank"]), str(one["error"]))
        else:
            answered.add(int(one["rank"]))
    return {
        place.rank: "its recorders are empty" if place.rank in answered else errors.get(place.rank, "no answer")
        for place in places
        if place.socket and place.rank not in given
    }


def _records(output: str) -> Iterator[dict[str, Any]]:
    for line in output.splitlines():
        try:
            record = msgspec.json.decode(line)
        except (msgspec.DecodeError, RecursionError):
            continue
        if isinstance(record, dict) and "rank" in record and "source" in record:
            yield record


def of_dump(rank: int, dump: dict[str, Any]) -> list[Recording]:
    """The recordings in one rank's dump. gloo's entries stay `scheduled` forever: only `retired` says that one is done."""
    groups: dict[tuple[str, str], list[Collective]] = {}
    ids: dict[tuple[str, str], str] = {}
    for entry in dump.get("entries") or ():
        number = entry.get("collective_seq_id")
        if not number or entry.get("is_p2p"):
            continue
        library, _, name = str(entry.get("profiling_name", "?")).rpartition(":")
        unique, shown = _group(entry)
        key = shown, f"{library} {unique}".strip()
        ids[key] = str(entry.get("pg_id", ""))
        groups.setdefault(key, []).append(
            Collective(
                number=int(number),
                name=name,
                sizes=str(entry.get("input_sizes") or ""),
                is_retired=bool(entry.get("retired")),
            )
        )
    status = dump.get("pg_status") or {}
    return [
        Recording(
            rank=rank,
            group=key[0],
            id=key[1],
            entries=tuple(sorted(entries, key=lambda one: one.number)),
            last_enqueued=_number(status.get(ids[key], {}), "last_enqueued_collective"),
            last_completed=_number(status.get(ids[key], {}), "last_completed_collective"),
        )
        for key, entries in groups.items()
    ]


def _group(entry: dict[str, Any]) -> tuple[str, str]:
    """The group's unique name, and the one to show: its description, where it has one."""
    name = entry.get("process_group")
    parts = [str(part) for part in name] if isinstance(name, list | tuple) else [str(name or "")]
    return parts[0], next((part for part in reversed(parts) if part and part != "undefined"), "default_pg")


def _number(status: dict[str, Any], key: str) -> int | None:
    value = status.get(key)
    return int(value) if value is not None else None
