"""What saving costs a training: how long examples/recipes/lm.py stands still for a checkpoint that is written in the background.

Its log has the time of each step, written before a save begins. The gap after a step that was saved, less the median gap of the
others, is what training waited for: the copy in memory. Saves are further apart than they last, as those of every minute are.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

from figures import Figure, spread

LM = Path(__file__).parents[2] / "examples/recipes/lm.py"
MINUTE = 60.0


def measure(settings: dict[str, Any]) -> list[Figure]:
    ranks, every, saves = settings["ranks"], settings["every"], settings["saves"]
    with tempfile.TemporaryDirectory() as directory:
        log, checkpoints = Path(directory, "log"), Path(directory, "checkpoints")
        model = [word for name, value in settings["model"].items() for word in (f"--{name}", str(value))]
        steps = every * (saves + 1) + every // 2  # the first save makes what the others use again
        options = ["--steps", steps, "--save-every", every, "--keep", 2, "--log", log, "--checkpoint-dir", checkpoints]
        torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks)]
        subprocess.run(
            [*torchrun, "--", str(LM), *model, *map(str, options)],
            env=os.environ | {"OMP_NUM_THREADS": "1"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=True,
        )
        times = {line["step"]: line["time"] for line in map(json.loads, log.read_text().splitlines())}
        size = sum(file.stat().st_size for file in (checkpoints / f"step-{every * (saves + 1)}").iterdir()) / 1e6
    gaps = {step: times[after] - times[step] for step, after in pairwise(sorted(times))}
    saved = [gap for step, gap in gaps.items() if step % every == 0][1:]
    usual = statistics.median(gap for step, gap in gaps.items() if step % every)
    blocked = [max(0.0, gap - usual) for gap in saved]
    median = statistics.median(blocked)
    return [
        Figure("blocked by a save a minute", 100 * median / MINUTE, "%", f"{size:.0f} MB on {ranks} ranks"),
        Figure("blocked by a save", median, "s", spread(blocked)),
        Figure("a step beside it", usual, "s"),
    ]
