"""Recipes on their runtimes, started by `shunter run`: what starts a program, and whether its nodes train one model."""

from __future__ import annotations

from pathlib import Path

import pytest

from e2e.running_cluster import Cluster, eventually
from shunter.launch.runtimes.choice import NOT_EMBEDDED
from shunter.operator.trainer.runtimes import shipped
from shunter.operator.training_progress import progress

RECIPES = Path(__file__).parents[2] / "examples/recipes"

pytestmark = pytest.mark.timeout(240)

TRAINED = {
    "deepspeed-distributed": ("mpi_allreduce.py", ("--procs", "2"), {"4 ranks, from step 0 to 60", "accuracy 0.9"}),
    "mlx-distributed": ("mpi_allreduce.py", (), {"2 ranks, from step 0 to 60", "accuracy 0.9"}),
    "jax-distributed": ("jax_train.py", (), {"2 processes, 2 cpu devices, from step 0 to 60", "step 60 loss 0.2"}),
    "xgboost-distributed": ("xgboost_train.py", (), {"2 workers (cpu), from round 0 to 60", "60 trees, 0."}),
}
"""By runtime: a recipe, options of `run`, and what its ranks print. For mlx-distributed, as the package mlx is not installed."""
ELSEWHERE = {"torch-distributed", "shunter-torch"}
"""In test_trainer_frameworks.py and test_shunter_torch.py."""


def test_each_shipped_runtime_trains_here_or_says_why_not() -> None:
    names = {runtime["metadata"]["name"] for runtime in shipped()}
    assert names == {*TRAINED, *ELSEWHERE, *NOT_EMBEDDED}


@pytest.mark.parametrize("runtime", TRAINED)
def test_a_recipe_trains_on_two_nodes(cluster: Cluster, namespace: str, tmp_path: Path, runtime: str) -> None:
    recipe, options, said = TRAINED[runtime]
    project = tmp_path / "project"
    project.mkdir()
    for file in (recipe, "progress.py"):
        (project / file).write_bytes((RECIPES / file).read_bytes())
    length = "--rounds" if recipe.startswith("xgboost") else "--steps"
    started = ["run", str(project / recipe), "-n", namespace, "--nodes", "2", "--runtime", runtime, *options]
    sent = ["--snapshot"] if runtime == "deepspeed-distributed" else []
    done = cluster.shunter(*started, *sent, "--", length, "60", timeout=200)
    assert done.returncode == 0, done.stderr + done.stdout
    assert {words for words in said if words in done.stdout} == said, done.stdout
    if cluster.kind == "embedded":  # elsewhere the status server is off by default

        def last_report() -> tuple[int | None, int | None, int | None]:
            (job,) = cluster.get("trainjobs", "-n", namespace)["items"]
            reported = progress(job)
            assert reported is not None
            return reported.step, reported.steps, reported.checkpoint.step if reported.checkpoint else None

        # A report is acknowledged at once and written within a second of the one before: these trainings end sooner.
        eventually(lambda: last_report() == (60, 60, 60), seconds=20)


@pytest.mark.embedded(why="keeps checkpoints in a directory of this machine")
def test_a_model_is_fine_tuned_by_one_command_and_another_goes_on(cluster: Cluster, namespace: str, tmp_path: Path) -> None:
    """Its own tiny model, on one rank: each imports transformers, which takes seconds of CPU."""
    (project := tmp_path / "project").mkdir()
    for file in ("finetune.py", "progress.py"):
        (project / file).write_bytes((RECIPES / file).read_bytes())
    saved = tmp_path / "saved/finetune"
    options = ("--save-every", "2", "--global-batch", "4", "--rank", "2")

    def run(*resume: str, steps: int) -> str:
        started = ["run", str(project / "finetune.py"), "-n", namespace, "--restarts", "0", "-e", "OMP_NUM_THREADS=1"]
        place = ("--checkpoints", str(saved.parent))
        done = cluster.shunter(*started, *place, *resume, "--", *options, "--steps", str(steps), timeout=110)
        assert done.returncode == 0, done.stderr + done.stdout
        return done.stdout

    def complete() -> set[str]:
        return {mark.parent.name for mark in saved.glob("*/.metadata")}

    assert "1 ranks (cpu), from step 0 to 2" in run(steps=2)
    assert complete() == {"checkpoint-2"}
    first = (saved / "adapter/adapter_model.safetensors").read_bytes()
    assert "1 ranks (cpu), from step 2 to 4" in run("--resume", "finetune", steps=4)
    assert complete() == {"checkpoint-2", "checkpoint-4"}
    assert (saved / "adapter/adapter_model.safetensors").read_bytes() != first


def test_variables_and_words_reach_all_ranks_of_mpi(cluster: Cluster, namespace: str, tmp_path: Path) -> None:
    """sshd starts processes with nothing of what their pod declares."""
    (tmp_path / "train.py").write_text(
        "import os, sys\n"
        "from mpi4py import MPI\n"
        "print(f\"{MPI.COMM_WORLD.rank} {os.environ['TOKEN']} {os.getcwd()} {sys.argv[1:]}\", flush=True)\n"
    )
    secret = {"metadata": {"name": "hub", "namespace": namespace}, "stringData": {"TOKEN": "s3cr3t"}}
    cluster.apply({"apiVersion": "v1", "kind": "Secret", **secret})
    started = ["run", str(tmp_path / "train.py"), "-n", namespace, "--nodes", "2", "--runtime", "deepspeed-distributed"]
    done = cluster.shunter(*started, "--env-from", "secret/hub", "--", "--x", "a b", timeout=200)
    assert done.returncode == 0, done.stderr + done.stdout
    for rank in range(2):
        assert f"{rank} s3cr3t /workspace/code ['--x', 'a b']" in done.stdout


@pytest.mark.embedded(why="elsewhere the services of this runtime may be there")
def test_a_runtime_that_cannot_train_here_is_refused_before_anything_is_created(cluster: Cluster, namespace: str) -> None:
    runtime = "torch-distributed-with-cache"
    done = cluster.shunter("run", str(RECIPES / "images.py"), "-n", namespace, "--runtime", runtime)
    assert done.returncode == 2
    assert f"--runtime {runtime} does not train on the embedded cluster: {NOT_EMBEDDED[runtime]}" in done.stderr
    assert cluster.get("trainjobs", "-n", namespace)["items"] == []
