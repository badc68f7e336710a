"""torch's flight recorder, where it can be had. Each rank keeps its last collectives; one whose environment names a worker server
(TORCH_WORKER_SERVER_SOCKET) gives them by that, and NCCL's watchdog leaves them in files.

The program below runs in the container, by its own Python: files are pickled, and nothing of a container is unpickled here.
"""

from __future__ import annotations

from typing import Any

import msgspec

from shunter.doctor.evidence import Collective, Recording

PROGRAM = r"""
import glob, http.client, json, os, pickle, socket, sys

class Unix(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(5)
        self.sock.connect(self.host)

def say(rank, dump):
    print(json.dumps({"rank": rank, "dump": dump}, default=str))

for place in json.loads(sys.argv[1]):
    try:
        connection = Unix(place["socket"])
        connection.request("POST", "/handler/fr_trace_json")
        say(place["rank"], json.loads(connection.getresponse().read()))
    except (OSError, ValueError, http.client.HTTPException) as error:
        print(json.dumps({"rank": place["rank"], "error": str(error)}))
for prefix in json.loads(sys.argv[2]):
    for path in glob.glob(prefix + "*"):
        rank = path[len(prefix):]
        if rank.isdecimal():
            with open(path, "rb") as file:
                say(int(rank), pickle.load(file))
"""
DUMPS = ("/tmp/nccl_trace_rank_", "/tmp/.cache/torch/comm_lib_trace_rank_")
"""Where NCCL's watchdog writes them by default (torch 2.15)."""


def command(python: str, sockets: list[dict[str, Any]]) -> list[str]:
    """What gives the recordings of one container; `python` is its interpreter."""
    places, prefixes = (msgspec.json.encode(value).decode() for value in (sockets, list(DUMPS)))
    return [python, "-c", PROGRAM, places, prefixes]


def recordings(output: str) -> list[Recording]:
    """What the program wrote: one value for each rank and process group."""
    found: list[Recording] = []
    for line in output.splitlines():
        try:
            told = msgspec.json.decode(line)
        except msgspec.DecodeError:
            continue
        if isinstance(told, dict) and isinstance(told.get("dump"), dict):
            found += of_dump(int(told["rank"]), told["dump"])
    return found


def of_dump(rank: int, dump: dict[str, Any]) -> list[Recording]:
    """The recordings in one rank's dump. gloo's entries stay `scheduled` for ever: only `retired` says that one is done."""
    groups: dict[str, list[Collective]] = {}
    ids: dict[str, str] = {}
    for entry in dump.get("entries") or ():
        number = entry.get("collective_seq_id")
        if not number or entry.get("is_p2p"):
            continue
        name = _group(entry)
        ids[name] = str(entry.get("pg_id", ""))
        groups.setdefault(name, []).append(
            Collective(
                number=int(number),
                name=str(entry.get("profiling_name", "?")).rsplit(":", 1)[-1],
                sizes=str(entry.get("input_sizes") or ""),
                is_retired=bool(entry.get("retired")),
            )
        )
    status = dump.get("pg_status") or {}
    return [
        Recording(
            rank=rank,
            group=name,
            entries=tuple(sorted(entries, key=lambda one: one.number)),
            last_enqueued=_number(status.get(ids[name], {}), "last_enqueued_collective"),
            last_completed=_number(status.get(ids[name], {}), "last_completed_collective"),
        )
        for name, entries in groups.items()
    ]


def _group(entry: dict[str, Any]) -> str:
    name = entry.get("process_group")
    parts = [str(part) for part in name] if isinstance(name, list | tuple) else [str(name or "")]
    return next((part for part in reversed(parts) if part and part != "undefined"), "default_pg")


def _number(status: dict[str, Any], key: str) -> int | None:
    value = status.get(key)
    return int(value) if value is not None else None
