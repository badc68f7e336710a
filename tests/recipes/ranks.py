"""Runs a recipe's own program on several ranks, as torchrun would, but forked from one process that has imported torch already:
an import costs seconds of CPU a rank."""

from __future__ import annotations

import atexit
import importlib.util
import json
import multiprocessing
import os
import runpy
import signal
import sys
import time
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from shunter.cluster.free_ports import free_port

REPOSITORY = Path(__file__).parents[2]
LM = REPOSITORY / "examples/recipes/lm.py"
IMAGES = REPOSITORY / "examples/recipes/images.py"

forked = multiprocessing.get_context("forkserver")
forked.set_forkserver_preload(
    [
        "torch",
        "torch.distributed.checkpoint",
        "torch.distributed.checkpoint.state_dict",
        "torch.distributed.fsdp",
        "torch._dynamo",
    ]
)


def run_rank(script: str, options: list[str], environment: dict[str, str], output: Path) -> None:
    import torch

    torch.set_num_threads(1)
    os.environ.update(environment)
    file = os.open(output, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    os.dup2(file, 1)
    os.dup2(file, 2)
    sys.argv = [script, *options]
    sys.path.insert(0, str(Path(script).parent))
    try:
        runpy.run_path(script, run_name="__main__")
    finally:
        atexit._run_exitfuncs()  # processes of multiprocessing leave without


class Ranks:
    """One start of a recipe: its processes, what they print, and the losses that lm.py logs."""

    def __init__(
        self, directory: Path, world: int, *options: object, environments: tuple[dict[str, str], ...] = (), script: Path = LM
    ) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.output, self.log = directory / "output", directory / "losses.jsonl"
        self.output.unlink(missing_ok=True)
        port = free_port()
        self.processes: list[BaseProcess] = []
        for rank in range(world):
            environment = {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(world)}
            environment |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
            environment |= environments[rank] if environments else {}
            arguments = [str(option) for option in (*options, *(("--log", self.log) if script == LM else ()))]
            process = forked.Process(target=run_rank, args=(str(script), arguments, environment, self.output), daemon=True)
            process.start()
            self.processes.append(process)

    def exit_codes(self, seconds: float = 90) -> list[int | None]:
        """Waits for all ranks; one that is still there then has hung."""
        for process in self.processes:
            process.join(seconds)
        codes = [process.exitcode for process in self.processes]
        self.kill()
        return codes

    def kill(self) -> None:
        for process in self.processes:
            if process.exitcode is None and process.pid:
                os.kill(process.pid, signal.SIGKILL)
        for process in self.processes:
            process.join()

    def printed(self) -> str:
        return self.output.read_text() if self.output.exists() else ""

    def losses(self, seconds: float = 90) -> dict[int, float]:
        codes = self.exit_codes(seconds)
        assert codes == [0] * len(codes), f"exit codes {codes} after at most {seconds} s: {self.printed()}"
        return logged(self.log)


def logged(log: Path) -> dict[int, float]:
    """The loss of each step; of steps that were trained twice the last."""
    lines = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    return {line["step"]: line["loss"] for line in lines}


def eventually(condition: Callable[[], object], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "not in time"
        time.sleep(0.002)


def in_forked_process(function: Any, *arguments: Any) -> Any:
    with forked.Pool(1) as pool:
        return pool.apply(function, arguments)


def recipe(rank: int = 0, world: int = 1) -> ModuleType:
    """The recipe as a module, believing that it is this rank."""
    spec = importlib.util.spec_from_file_location("lm", LM)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.dist = SimpleNamespace(get_rank=lambda: rank, get_world_size=lambda: world)  # type: ignore[attr-defined]
    return module


def chosen_samples(samples: int, global_batch: int, step: int, seed: int, world: int) -> list[list[int]]:
    """Which samples each rank takes at a step. Every byte of the text is its sample's number."""
    import torch

    sequence = 2
    text = torch.arange(samples, dtype=torch.uint8).repeat_interleave(sequence)
    text = torch.cat([text, text[-1:]])
    args = SimpleNamespace(sequence=sequence, global_batch=global_batch, seed=seed)
    return [recipe(rank, world).rank_batch(text, args, step)[:, 0].tolist() for rank in range(world)]


def removed_in_order(directory: Path, keep: int, keep_every: int | None) -> list[str]:
    """The files of checkpoints that the recipe removes, one after the other."""
    lm = recipe()
    removed: list[str] = []

    class Watched(type(directory)):  # type: ignore[misc]
        def unlink(self, missing_ok: bool = False) -> None:
            removed.append(str(self.relative_to(directory)))
            super().unlink(missing_ok)

    checkpoints = lm.Checkpoints.__new__(lm.Checkpoints)
    checkpoints.place, checkpoints.args = Watched(directory), SimpleNamespace(keep=keep, keep_every=keep_every)
    checkpoints.remove_old()
    return removed
