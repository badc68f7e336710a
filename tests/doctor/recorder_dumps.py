"""What torch's flight recorders tell, as the program that reads them prints it."""

from __future__ import annotations

import json
from typing import Any

Json = dict[str, Any]
EMPTY = {"comm_lib_version": "", "nccl_comm_state": {}, "pg_config": {}, "pg_status": {}, "version": "2.10"}
"""What torch 2.15 answers of a recorder in which nothing is: measured, with gloo ranks."""


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
