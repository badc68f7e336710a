"""How long `shunter up` takes on a fresh state directory, and what the cluster costs while nothing happens."""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import usage
from embedded import cluster, down, up
from figures import Figure, spread


def measure(settings: dict[str, Any]) -> list[Figure]:
    seconds = []
    for _ in range(settings["repeats"]):
        with tempfile.TemporaryDirectory(prefix="shunter-bench-") as folder:
            seconds.append(up(Path(folder)))
            down(Path(folder))
    return [
        Figure("seconds to ready", statistics.median(seconds), "s", spread(seconds)),
        *idle(settings["settle_seconds"], settings["idle_seconds"]),
    ]


def idle(settle_seconds: float, idle_seconds: float) -> list[Figure]:
    with cluster() as started:
        time.sleep(settle_seconds)
        processes = started.processes()
        pids = list(processes.values())
        before = usage.processor_seconds(pids)
        time.sleep(idle_seconds)
        busy = usage.processor_seconds(pids) - before
        each = ", ".join(f"{name} {usage.resident([pid]):.0f}" for name, pid in processes.items())
        return [
            Figure("idle memory (RSS)", usage.resident(pids), "MiB", each),
            Figure("idle memory (PSS)", usage.proportional(pids), "MiB", "shared pages counted once"),
            Figure("idle CPU", 100 * busy / idle_seconds, "% of one core", f"over {idle_seconds} s"),
        ]
