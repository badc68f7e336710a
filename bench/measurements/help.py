"""How long `shunter --help` takes, from start to exit of the process."""

from __future__ import annotations

import statistics
import subprocess
import time
from typing import Any

from embedded import SHUNTER
from figures import Figure, spread


def measure(settings: dict[str, Any]) -> list[Figure]:
    once()
    times = [once() for _ in range(settings["repeats"])]
    return [Figure("shunter --help", statistics.median(times), "ms", spread(times))]


def once() -> float:
    started = time.perf_counter()
    subprocess.run([SHUNTER, "--help"], check=True, stdout=subprocess.DEVNULL)
    return (time.perf_counter() - started) * 1000
