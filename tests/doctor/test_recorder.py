"""torch's flight recorders: what the program in a container asks and reads, and what of it is a recording.

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
from pathlib import Path

import pytest

from doctor.recorder_dumps import EMPTY, Json, dump, entry, output
from job_evidence import NOW
from shunter.doctor import recorder
from shunter.doctor.evidence import Collective

MISSING = "Handler {} not found: Failed to find handler {}"


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


def test_a_dump_s_group_is_known_by_its_entries_and_gloo_s_state_says_nothing() -> None:
    one = {"pg_id": 0, "process_group": ["0", "default_pg"], "collective_seq_id": 4, "is_p2p": False, "state": "scheduled"}
    written = {
        "entries": [{**one, "profiling_name": "gloo:broadcast", "input_sizes": [[4]], "retired": True}],
        "pg_status": {"0": {"last_enqueued_collective": 4, "last_completed_collective": 3}},
    }
    source = {"source": "fr_trace_json"}
    text = (
        json.dumps({"rank": 1, **source, "dump": written})
        + "\n"
        + json.dumps({"rank": 2, **source, "error": "gone"})
        + "\nnoise\n"
    )
    (found,) = recorder.recordings([text])
    assert (found.rank, found.group, found.last_enqueued, found.last_completed) == (1, "default_pg", 4, 3)
    assert found.entries == (Collective(number=4, name="broadcast", sizes="[[4]]", is_retired=True),)
