"""From the key press of `shunter run rank.py` to the first all_reduce of its ranks, against torchrun of the same script.

Once with all ranks on one node, once with one on each, against as many torchruns. Both in turns, on a cluster that is up.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from embedded import SHUNTER, Cluster, cluster
from figures import Figure, spread
from measurements.first_all_reduce import RANK, by_torchrun, last_mark
from shunter.cluster.free_ports import free_port


def measure(settings: dict[str, Any]) -> list[Figure]:
    ranks = settings["ranks"]
    ways: dict[str, Callable[[Cluster], float]] = {
        "torchrun": lambda _: by_torchrun(ranks),
        "shunter run": lambda started: by_run(started, ranks, "--procs", str(ranks)),
        f"{ranks} torchruns": lambda _: by_torchruns(ranks),
        f"shunter run, {ranks} nodes": lambda started: by_run(started, ranks, "--nodes", str(ranks)),
    }
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    with cluster() as started:
        for number in range(-1, settings["repeats"]):
            for name, way in ways.items():
                took = way(started)
                if number >= 0:
                    seconds[name].append(took)
    one, run, many, run_many = (statistics.median(times) for times in seconds.values())
    return [
        Figure("shunter run / torchrun", run / one, "x"),
        Figure("shunter run / torchruns", run_many / many, "x", f"{ranks} nodes"),
        *(Figure(name, statistics.median(times), "s", spread(times)) for name, times in seconds.items()),
    ]


def by_run(started: Cluster, ranks: int, *options: str) -> float:
    command = [SHUNTER, "run", str(RANK), *options]
    environment = os.environ | {"KUBECONFIG": str(started.state_dir / "kubeconfig")}
    begun = time.time()
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return last_mark(done.stdout, ranks) - begun


def by_torchruns(nodes: int) -> float:
    """As many nodes as ranks, each a torchrun of its own, on this machine."""
    port = free_port()
    begun = time.time()
    processes = [
        subprocess.Popen(
            [
                *(sys.executable, "-m", "torch.distributed.run", f"--nnodes={nodes}", f"--node-rank={rank}"),
                *("--master-addr=127.0.0.1", f"--master-port={port}", str(RANK)),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        for rank in range(nodes)
    ]
    return last_mark("".join(process.communicate()[0] for process in processes), nodes) - begun
