"""The recipes for other frameworks than torch alone: stopped by SIGTERM and killed, they end as if they had not been."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from control_plane import free_ports
from recipes.ranks import REPOSITORY, eventually
from recipes.status_server import environment, last_report, serving
from shunter.operator.training_progress import Progress

RECIPES = REPOSITORY / "examples/recipes"
FORK_SERVER = Path(__file__).parent / "fork_server.py"

pytestmark = pytest.mark.timeout(300)


def torch_places(world: int) -> list[dict[str, str]]:
    group = {"WORLD_SIZE": str(world), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_ports(1)[0])}
    return [{**group, "RANK": str(rank), "LOCAL_RANK": str(rank)} for rank in range(world)]


def jax_places(world: int) -> list[dict[str, str]]:
    group = {"JAX_COORDINATOR_ADDRESS": f"127.0.0.1:{free_ports(1)[0]}", "JAX_NUM_PROCESSES": str(world)}
    return [{**group, "JAX_PROCESS_ID": str(rank)} for rank in range(world)]


def xgboost_places(world: int) -> list[dict[str, str]]:
    group = {"DMLC_TRACKER_URI": "127.0.0.1", "DMLC_TRACKER_PORT": str(free_ports(1)[0]), "DMLC_NUM_WORKER": str(world)}
    return [{**group, "DMLC_TASK_ID": str(rank)} for rank in range(world)]


def tensorflow_places(world: int) -> list[dict[str, str]]:
    workers = [f"127.0.0.1:{port}" for port in free_ports(world)]
    tasks = [{"type": "worker", "index": rank} for rank in range(world)]
    return [{"TF_CONFIG": json.dumps({"cluster": {"worker": workers}, "task": task})} for task in tasks]


class Recipe(NamedTuple):
    """How one is started: what its ranks import, and the variables from which each learns its place."""

    modules: tuple[str, ...]
    places: Callable[[int], list[dict[str, str]]]
    options: tuple[object, ...] = ()
    steps: str = "--steps"
    line: str = r"^step (\d+) loss (\S+)$"
    saved: str = "step-"
    alone: tuple[object, ...] = ()
    """Options with which one rank learns the same."""
    alike: bool = True


TORCH = ("torch", "torch.distributed", "torch._dynamo")
TRANSFORMERS = ("transformers", "transformers.trainer", "peft", "accelerate", "deepspeed", "mlflow", "sklearn.metrics")
"""The last three are imported by the others where they are installed: ten seconds a rank."""
ALL = {
    "jax_train": Recipe(("jax", "numpy", "jax.experimental.multihost_utils"), jax_places),
    "xgboost_train": Recipe(
        ("xgboost", "xgboost.tracker"),
        xgboost_places,
        steps="--rounds",
        line=r"^round (\d+) rmse (\S+)$",
        alike=False,
    ),
    "tf_multiworker": Recipe(("tensorflow",), tensorflow_places),
    "deepspeed_zero": Recipe((*TORCH, "deepspeed"), torch_places, ("--stage", 3, "--accumulate", 2), alone=("--stage", 0)),
    "finetune": Recipe((*TORCH, *TRANSFORMERS), torch_places, saved="checkpoint-"),
}
EVERYTHING = bool(os.environ.get("RECIPES"))
"""RECIPES=all before pytest runs every test for every recipe: five minutes, most of them imports. Else recipes that are slow to
import are only trained once, and resumed."""
QUICK = ("jax_train", "xgboost_train")
SLOW = ("deepspeed_zero", "finetune")
"""A minute each, most of it imports; `make long` trains them."""


class Server:
    """Forks ranks of one recipe."""

    def __init__(self, name: str) -> None:
        self.name, self.recipe = name, ALL[name]
        self.started: list[Ranks] = []
        environment = os.environ | {
            "OMP_NUM_THREADS": "1",
            "CUDA_VISIBLE_DEVICES": "",
            "DS_ACCELERATOR": "cpu",
            "JAX_PLATFORMS": "cpu",
        }
        self.process = subprocess.Popen(
            [sys.executable, str(FORK_SERVER), *self.recipe.modules],
            env=environment | {"TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONWARNINGS": "ignore"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def ask(self, **asked: Any) -> Any:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(asked) + "\n")
        self.process.stdin.flush()
        while not (answer := self.process.stdout.readline()).strip().removeprefix("-").isdigit() and answer.strip() != "null":
            assert answer, "the fork server has ended"  # what frameworks print when they are imported is passed over
        return json.loads(answer)

    def ranks(self, directory: Path, world: int, *options: object, environments: Sequence[dict[str, str]] = ()) -> Ranks:
        self.started.append(Ranks(self, directory, world, options, environments))
        return self.started[-1]

    def close(self) -> None:
        for ranks in self.started:
            ranks.kill()
        self.process.kill()
        self.process.communicate()


class Ranks:
    """One start of a recipe on so many ranks."""

    def __init__(
        self, server: Server, directory: Path, world: int, options: Iterable[object], environments: Sequence[dict[str, str]]
    ) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.server, self.output = server, directory / "output"
        self.output.unlink(missing_ok=True)
        self.codes: dict[int, int | None] = {}
        script, words = str(RECIPES / f"{server.name}.py"), [*map(str, (*server.recipe.options, *options))]
        for rank, place in enumerate(server.recipe.places(world) if world > 1 else [{}]):
            environment = {**place, **(environments[rank] if environments else {})}
            process = server.ask(script=script, options=words, environment=environment, output=str(self.output))
            self.codes[process] = None

    @property
    def processes(self) -> list[int]:
        return list(self.codes)

    def exit_codes(self, seconds: float = 120) -> list[int | None]:
        deadline = time.monotonic() + seconds
        while None in self.codes.values() and time.monotonic() < deadline:
            self.look()
            time.sleep(0.01)
        self.kill()
        return list(self.codes.values())

    def look(self) -> None:
        for process, code in self.codes.items():
            if code is None:
                self.codes[process] = self.server.ask(wait=process)

    def kill(self) -> None:
        self.look()
        for process, code in self.codes.items():
            if code is None:
                os.kill(process, signal.SIGKILL)

    def printed(self) -> str:
        return self.output.read_text(errors="replace") if self.output.exists() else ""

    def losses(self) -> dict[int, float]:
        found = re.findall(self.server.recipe.line, self.printed(), re.MULTILINE)
        return {int(step): float(loss) for step, loss in found}

    def succeeds(self) -> dict[int, float]:
        assert self.exit_codes() == [0] * len(self.codes), self.printed()
        return self.losses()


def complete(checkpoints: Path) -> list[int]:
    return sorted(int(mark.parent.name.rpartition("-")[2]) for mark in checkpoints.glob("*-[0-9]*/.metadata"))


class Trained(NamedTuple):
    """What two ranks of a recipe have saved, said and reported undisturbed, up to step 20."""

    server: Server
    checkpoints: Path
    losses: dict[int, float]
    reported: Progress


@pytest.fixture(scope="module", params=[pytest.param(name, marks=pytest.mark.long if name in SLOW else ()) for name in ALL])
def trained(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trained]:
    for module in {name.partition(".")[0] for name in ALL[request.param].modules}:
        if not importlib.util.find_spec(module):  # not imported here: torch and tensorflow crash in one process
            pytest.skip(f"{module} is not installed")
    server, directory = Server(request.param), tmp_path_factory.mktemp(request.param)
    try:
        saving = ("--checkpoint-dir", directory / "checkpoints", "--save-every", 10)
        with serving() as status_server:
            pods = [environment(directory, status_server.url, token=f"pod-{rank}") for rank in range(2)]
            losses = server.ranks(directory, 2, server.recipe.steps, 20, *saving, environments=pods).succeeds()
        assert set(status_server.tokens) == {"Bearer pod-0"}
        assert complete(directory / "checkpoints") == [10, 20]
        assert losses[20] < losses[min(losses)], "nothing was learned"
        yield Trained(server, directory / "checkpoints", losses, last_report(status_server))
    finally:
        server.close()


@pytest.fixture
def saved(trained: Trained, tmp_path: Path) -> Path:
    """The checkpoint of step 10, and that of step 20 as a kill in the middle of its save leaves it."""
    shutil.copytree(trained.checkpoints, tmp_path / "checkpoints")
    (tmp_path / f"checkpoints/{trained.server.recipe.saved}20/.metadata").unlink()
    return tmp_path / "checkpoints"


def test_the_first_rank_reports_how_far_it_is(trained: Trained) -> None:
    reported = trained.reported
    assert (reported.step, reported.steps, reported.percentage) == (20, 20, 100)
    assert reported.loss is None or reported.loss == pytest.approx(trained.losses[20], abs=1e-5)
    assert (reported.loss is None) == (trained.server.name == "xgboost_train"), "its error is of another name"
    assert reported.checkpoint is not None
    assert (reported.checkpoint.step, reported.checkpoint.every) == (20, 10)
    assert reported.checkpoint.seconds is not None


def test_killed_in_the_middle_of_a_save_it_goes_on_from_the_newest_complete_one(
    trained: Trained, saved: Path, tmp_path: Path
) -> None:
    server, recipe = trained.server, trained.server.recipe
    resumed = server.ranks(tmp_path, 2, recipe.steps, 20, "--checkpoint-dir", saved, "--save-every", 1000)
    losses = resumed.succeeds()
    assert re.search("from (step|round) 10 to 20$", resumed.printed(), re.MULTILINE), resumed.printed()
    assert min(losses) > 10
    assert losses[20] == pytest.approx(trained.losses[20], abs=1e-5)
    assert complete(saved) == [10, 20]


def test_a_start_that_must_resume_does_not_begin_anew(trained: Trained, tmp_path: Path) -> None:
    if not EVERYTHING and trained.server.name in SLOW:
        pytest.skip("takes long; RECIPES=all")
    empty = tmp_path / "empty"
    ranks = trained.server.ranks(tmp_path, 2, "--checkpoint-dir", empty, environments=[{"SHUNTER_MUST_RESUME": "true"}] * 2)
    assert ranks.exit_codes() == [2, 2], ranks.printed()
    said = [line for line in ranks.printed().splitlines() if f"error: no complete checkpoint in {empty} to resume from" in line]
    assert len(said) == 1, ranks.printed()


@pytest.mark.skipif(not EVERYTHING, reason="takes long; RECIPES=all")
def test_on_one_rank_it_learns_the_same(trained: Trained, tmp_path: Path) -> None:
    recipe = trained.server.recipe
    if not recipe.alike:
        pytest.skip("the bins of columns depend on the number of workers")
    alone = trained.server.ranks(tmp_path, 1, recipe.steps, 20, *recipe.alone).succeeds()
    assert alone[20] == pytest.approx(trained.losses[20], abs=2e-5)


def test_sigterm_to_one_rank_stops_all_after_the_same_step(trained: Trained, tmp_path: Path) -> None:
    server, recipe = trained.server, trained.server.recipe
    if not EVERYTHING and server.name not in QUICK:
        pytest.skip("takes long; RECIPES=all")
    if server.name == "deepspeed_zero":
        pytest.skip("mpirun kills its processes when it is told to stop")
    saving = ("--checkpoint-dir", tmp_path / "checkpoints", "--save-every", 100_000)
    ranks = server.ranks(tmp_path, 2, recipe.steps, 100_000, *saving)
    eventually(lambda: ranks.losses() or None not in look(ranks), seconds=120)
    os.kill(ranks.processes[1], signal.SIGTERM)
    assert ranks.exit_codes() == [143, 143], ranks.printed()
    (step,) = complete(tmp_path / "checkpoints")
    assert f"stopped by SIGTERM, saved step {step}\n" in ranks.printed()


def look(ranks: Ranks) -> list[int | None]:
    ranks.look()
    return list(ranks.codes.values())


def shorten(checkpoints: Path) -> None:
    for file in (checkpoints / next(mark.parent.name for mark in checkpoints.glob("*/.metadata"))).rglob("*"):
        if file.suffix in (".npz", ".ubj", ".pt", ".safetensors") or ".data-" in file.name:
            file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


OTHER: dict[str, tuple[object, ...]] = {
    "jax_train": ("--width", 32),
    "tf_multiworker": ("--width", 16),
    "deepspeed_zero": ("--stage", 2),
    "finetune": ("--rank", 4),
    "xgboost_train": ("--data", "table.npy"),
}


@pytest.mark.parametrize("mistake", ["half of a checkpoint", "another model", "a batch that the ranks cannot share"])
def test_what_cannot_be_done_is_said_once_and_ends_all_ranks(trained: Trained, saved: Path, tmp_path: Path, mistake: str) -> None:
    import numpy as np

    name = trained.server.name
    if not EVERYTHING and name != "xgboost_train":
        pytest.skip("takes long; RECIPES=all")
    if name == "xgboost_train" and mistake.startswith("a batch"):
        pytest.skip("trees have no batches")
    np.save(tmp_path / "table.npy", np.zeros((10, 3)))
    words = [tmp_path / word if word == "table.npy" else word for word in OTHER[name] if mistake == "another model"]
    words += ["--global-batch", 7] if mistake.startswith("a batch") else []
    if mistake == "half of a checkpoint":
        shorten(saved)
    ranks = trained.server.ranks(tmp_path, 2, "--checkpoint-dir", saved, *words)
    assert ranks.exit_codes() == [2, 2], ranks.printed()
    said = {line.partition("error: ")[2] for line in ranks.printed().splitlines() if "error: " in line}
    assert len(said) == 1, ranks.printed()
    assert ("--global-batch 7 must be a multiple of 2" if mistake.startswith("a batch") else "-10") in said.pop()
    assert "Traceback" not in ranks.printed()
    assert complete(saved) == [10]


@pytest.mark.skipif(not importlib.util.find_spec("mpi4py"), reason="mpi4py is not installed")
class TestMPI:
    """With a real mpirun, which starts in less than a second."""

    OPTIONS = ("--allow-run-as-root", "--oversubscribe")

    def command(self, world: int, *options: object, script: Path = RECIPES / "mpi_allreduce.py") -> list[str]:
        words = [sys.executable, str(script), *map(str, options)]
        return [*(["mpirun", *self.OPTIONS, "-n", str(world)] if world > 1 else []), *words]

    def environment(self) -> dict[str, str]:
        return {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}

    def run(self, world: int, *options: object, **more: Path) -> subprocess.CompletedProcess[str]:
        command = self.command(world, *options, **more)
        return subprocess.run(command, capture_output=True, text=True, timeout=60, env=self.environment(), check=False)

    def test_killed_on_two_ranks_it_goes_on_with_three_as_if_it_had_not_been(self, tmp_path: Path) -> None:
        endless = self.command(2, "--steps", 10_000_000, "--checkpoint-dir", tmp_path, "--save-every", 10)
        with subprocess.Popen(endless, stdout=subprocess.PIPE, text=True, env=self.environment()) as killed:
            try:
                eventually(lambda: len(complete(tmp_path)) > 2)
                killed.terminate()
                killed.communicate(timeout=30)
            finally:
                killed.kill()
        assert killed.returncode != 0
        begun = complete(tmp_path)[-1]
        (tmp_path / f"step-{begun + 10}").mkdir(exist_ok=True)  # as a kill in the middle of a save leaves it
        resumed = self.run(3, "--steps", begun + 20, "--checkpoint-dir", tmp_path)
        assert resumed.returncode == 0, resumed.stderr
        assert f"3 ranks, from step {begun} to {begun + 20}\n" in resumed.stdout
        alone = Path(shutil.copy(RECIPES / "mpi_allreduce.py", tmp_path / "train.py"))  # without the files beside it
        undisturbed = self.run(1, "--steps", begun + 20, script=alone)
        assert resumed.stdout.splitlines()[-2:] == undisturbed.stdout.splitlines()[-2:]
        assert f"step {begun + 20} loss " in undisturbed.stdout
        assert "accuracy 0.9" in undisturbed.stdout or "accuracy 1.0" in undisturbed.stdout

    def test_a_start_that_must_resume_does_not_begin_anew(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("SHUNTER_MUST_RESUME", "true")
        done = self.run(2, "--checkpoint-dir", tmp_path)
        assert done.returncode == 2
        assert f"error: no complete checkpoint in {tmp_path} to resume from" in done.stdout

    @pytest.mark.parametrize(
        ("world", "options", "sentence"),
        [
            pytest.param(2, ("--global-batch", 7), "--global-batch 7 must be a multiple of 2 ranks", id="a batch"),
            pytest.param(
                1, ("--global-batch", 30), "step-5 was made with --global-batch 60, this run has 30", id="another batch"
            ),
            pytest.param(2, ("--steps", 5), "step-5 is damaged: remove it", id="half of a checkpoint"),
        ],
    )
    def test_what_cannot_be_done_is_said_once(
        self, tmp_path: Path, world: int, options: tuple[object, ...], sentence: str
    ) -> None:
        assert self.run(1, "--steps", 5, "--checkpoint-dir", tmp_path).returncode == 0
        if "damaged" in sentence:
            shorten(tmp_path)
        done = self.run(world, *options, "--checkpoint-dir", tmp_path)
        assert done.returncode == 2
        assert [line for line in done.stdout.splitlines() if "error: " in line and sentence in line]
        assert "Traceback" not in done.stdout + done.stderr
