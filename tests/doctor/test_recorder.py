"""torch's flight recorders: what the program in a container asks and reads, and what follows from NCCL's own.

NCCL's answers are as torch 2.15 writes them by its source (FlightRecorderDetail.hpp); no GPU has run them.
"""

from __future__ import annotations

import http.server
import json
import os
import pickle
import socketserver
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from doctor.evidences import log, pod, runs, seen
from job_evidence import NOW
from shunter.doctor import recorder
from shunter.doctor.diagnosing import diagnose
from shunter.doctor.evidence import Frame, Process, Recording, Sample

Json = dict[str, Any]
EMPTY = {"comm_lib_version": "", "nccl_comm_state": {}, "pg_config": {}, "pg_status": {}, "version": "2.10"}
"""What torch 2.15 answers of a recorder in which nothing is: measured, with gloo ranks."""
MISSING = "Handler {} not found: Failed to find handler {}"


def entry(
    number: int, name: str, sizes: list[list[int]], *, state: str = "completed", group: tuple[str, str] = ("0", "default_pg")
) -> Json:
    done = state == "completed"
    return {
        "record_id": number,
        "pg_id": 0,
        "process_group": list(group),
        "thread_name": "pt_main_thread",
        "thread_id": "140171807161216",
        "collective_seq_id": number,
        "p2p_seq_id": 0,
        "op_id": number,
        "profiling_name": name,
        "time_created_ns": 1795691348979055454,
        "input_sizes": sizes,
        "input_dtypes": ["Float"],
        "output_sizes": sizes,
        "output_dtypes": ["Float"],
        "state": state,
        "time_discovered_started_ns": 1795691348979055454,
        "time_discovered_completed_ns": 1795691348979055454 if done else 0,
        "retired": done,
        "timeout_ms": 600000,
        "is_p2p": False,
    }


def dump(*entries: Json) -> Json:
    last = str(max(one["collective_seq_id"] for one in entries))
    status = {"last_enqueued_collective": last, "last_started_collective": last, "last_completed_collective": last}
    config = {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1, 2]"}}
    return {**EMPTY, "comm_lib_version": "2.28.9", "pg_config": config, "pg_status": {"0": status}, "entries": list(entries)}


def output(rank: int, given: Json, source: str = "dump_nccl_trace_json") -> str:
    return json.dumps({"rank": rank, "source": source, "dump": given}) + "\n"


@contextmanager
def worker_server(address: Path, answers: dict[str, Json]) -> Iterator[None]:
    """Serves these handlers as torch's worker server does: others are not found."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            name = self.path.removeprefix("/handler/")
            self.send_response(200 if name in answers else 404)
            self.end_headers()
            self.wfile.write(json.dumps(answers[name]).encode() if name in answers else MISSING.format(name, name).encode())

        def log_message(self, format: str, *args: object) -> None: ...

        def address_string(self) -> str:
            return "unix"

    with socketserver.UnixStreamServer(str(address), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            thread.join()


def read(*places: recorder.Place) -> str:
    words = recorder.command(sys.executable, places)
    return subprocess.run(words, capture_output=True, text=True, timeout=60, check=True).stdout


GLOO, NCCL = dump(entry(1, "gloo:all_reduce", [[4]])), dump(entry(7, "nccl:all_reduce", [[8]]))


@pytest.mark.integration
@pytest.mark.parametrize(
    ("answers", "numbers"),
    [
        ({"dump_nccl_trace_json": NCCL, "fr_trace_json": GLOO}, {"nccl 0": 7, "gloo 0": 1}),
        ({"dump_nccl_trace_json": EMPTY, "fr_trace_json": GLOO}, {"gloo 0": 1}),
        ({"fr_trace_json": GLOO}, {"gloo 0": 1}),
        ({"dump_nccl_trace_json": NCCL}, {"nccl 0": 7}),
    ],
    ids=["both", "NCCL's is empty", "no handler for NCCL", "only NCCL's"],
)
def test_both_recorders_are_asked_and_their_calls_are_kept_apart(
    answers: dict[str, Json], numbers: dict[str, int], tmp_path: Path
) -> None:
    place = recorder.Place(rank=1, pid=os.getpid(), socket=str(tmp_path / "s"))
    with worker_server(tmp_path / "s", answers):
        found = recorder.recordings([said := read(place)])
    assert {one.id: one.entries[0].number for one in found} == numbers
    assert {(one.rank, one.group) for one in found} == {(1, "default_pg")}
    assert recorder.silent_ranks([said], [place]) == {}


@pytest.mark.integration
@pytest.mark.parametrize(
    ("answers", "why"),
    [
        ({"dump_nccl_trace_json": EMPTY, "fr_trace_json": EMPTY}, "its recorders are empty"),
        ({}, MISSING.format(*["dump_nccl_trace_json"] * 2)),
    ],
    ids=["empty", "no handlers"],
)
def test_a_server_that_gives_no_call_is_told(answers: dict[str, Json], why: str, tmp_path: Path) -> None:
    place = recorder.Place(rank=1, pid=os.getpid(), socket=str(tmp_path / "s"))
    with worker_server(tmp_path / "s", answers):
        assert recorder.silent_ranks([read(place)], [place]) == {1: why}


@pytest.mark.integration
@pytest.mark.parametrize("variable", ["TORCH_FR_DUMP_TEMP_FILE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE", "XDG_CACHE_HOME", "HOME"])
def test_a_watchdog_s_file_is_found_where_the_rank_s_environment_puts_it(variable: str, tmp_path: Path) -> None:
    folder = {"XDG_CACHE_HOME": "torch", "HOME": ".cache/torch"}.get(variable, "")
    prefix = tmp_path / folder / "comm_lib_trace_rank_"
    prefix.parent.mkdir(parents=True, exist_ok=True)
    environment = {"PATH": "/usr/bin:/bin", variable: str(tmp_path if folder else prefix)}
    for rank in (2, 3):
        Path(f"{prefix}{rank}").write_bytes(pickle.dumps(NCCL))
    with subprocess.Popen(["sleep", "60"], env=environment) as process:
        try:
            os.utime(f"{prefix}2")
            os.utime(f"{prefix}3", times=(NOW.timestamp(),) * 2)
            said = read(*(recorder.Place(rank=rank, pid=process.pid, socket="") for rank in (2, 3, 4)))
        finally:
            process.kill()
    assert [(one.rank, one.id) for one in recorder.recordings([said])] == [(2, "nccl 0")], "rank 3's is of an earlier run"


def test_files_are_left_out_of_a_group_of_which_a_server_told() -> None:
    said = [output(0, NCCL) + output(0, NCCL, "file"), output(1, dump(entry(6, "nccl:all_reduce", [[8]])), "file")]
    assert [(one.rank, one.entries[0].number) for one in recorder.recordings(said)] == [(0, 7)]


def causes(dumps: list[Json], *, goes_on: bool, moves: bool = False) -> list[str]:
    """What is said of ranks whose recorders hold this: they write a line between the samples, or move from call to call, or wait
    in all_reduce."""
    frames = [
        (Frame(function=name, file="torch/distributed/distributed_c10d.py"),)
        for name in ("all_reduce", "broadcast" if moves else "all_reduce")
    ]
    names = [pod(rank)["metadata"]["name"] for rank in range(3)]
    samples = tuple(
        Sample(
            at=NOW - timedelta(seconds=5 - 5 * number),
            processes=tuple(
                Process(pod=name, container="pytorch", pid=1, rank=rank, frames=frames[number], state="S")
                for rank, name in enumerate(names)
            ),
            last_lines={name: str(number * goes_on) for name in names},
        )
        for number in (0, 1)
    )
    given: list[Recording] = recorder.recordings([output(rank, one) for rank, one in enumerate(dumps)])
    logs = tuple(log(rank, "step 1 loss 0.5", "step 2 loss 0.5", at=40, every=0.1) for rank in range(3))
    evidence = seen(*(pod(rank, **runs()) for rank in range(3)), logs=logs, samples=samples, recordings=tuple(given))
    return [one.cause for one in diagnose(evidence, NOW).verdicts if one.id == "H04"]


def rows(*calls: tuple[str, list[list[int]]]) -> Json:
    return dump(*(entry(number, f"nccl:{name}", sizes) for number, (name, sizes) in enumerate(calls, 1)))


SAME = ("all_reduce", [[8]])


@pytest.mark.parametrize(
    ("other", "text"),
    [
        (("broadcast", [[8]]), "rank 1 calls broadcast where ranks 0 and 2 call all_reduce (call number 2 of default_pg)"),
        (
            ("all_reduce", [[16]]),
            "rank 1 calls all_reduce of [[16]] where ranks 0 and 2 call all_reduce of [[8]] (call number 2 of default_pg)",
        ),
    ],
    ids=["another call", "another size"],
)
@pytest.mark.parametrize("goes_on", [True, False])
def test_calls_that_differ_are_told_whether_or_not_the_job_goes_on(
    other: tuple[str, list[list[int]]], text: str, goes_on: bool
) -> None:
    assert causes([rows(SAME, SAME, SAME), rows(SAME, other, SAME), rows(SAME, SAME, SAME)], goes_on=goes_on) == [text]


def test_a_rank_is_behind_only_in_a_job_that_does_not_go_on() -> None:
    """Of a job that trains, recorders are read at different moments."""
    done = rows(SAME, SAME)
    waits = dump(entry(1, "nccl:all_reduce", [[8]]), entry(2, "nccl:all_reduce", [[8]], state="started"))
    given = [waits, rows(SAME), waits]
    assert causes(given, goes_on=True) == []
    assert causes(given, goes_on=False, moves=True) == []
    assert causes([done, rows(SAME), waits], goes_on=False) == []
    assert causes(given, goes_on=False) == [
        "rank 1 has not called all_reduce (call number 2 of default_pg), in which ranks 0 and 2 wait"
    ]


@pytest.mark.parametrize(
    "name", ["all_to_all", "all_to_all_single", "all_gather", "scatter", "reduce_scatter_v", "ALLGATHER_coalesced"]
)
def test_ranks_may_pass_different_sizes_to_some_calls(name: str) -> None:
    assert causes([rows((name, [[8]])), rows((name, [[16]])), rows((name, [[8]]))], goes_on=True) == []


def test_groups_of_some_ranks_are_not_compared_with_each_other() -> None:
    """Two groups of one description: each rank knows its own."""
    given = [dump(entry(1, "nccl:all_reduce", [[size]], group=(str(size), "mesh_tp"))) for size in (8, 8, 16)]
    assert causes(given, goes_on=True) == []
