"""Recipes on their runtimes, started by `shunter run`: what starts a program, and whether its nodes train one model."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from e2e.running_cluster import Cluster, SharedClaim, eventually
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


@pytest.mark.long
def test_a_model_is_fine_tuned_by_one_command_and_another_goes_on(
    cluster: Cluster, namespace: str, shared_claim: SharedClaim, tmp_path: Path
) -> None:
    """Its own tiny model, on one rank: each imports transformers, which takes seconds of CPU."""
    (project := tmp_path / "project").mkdir()
    for file in ("finetune.py", "progress.py"):
        (project / file).write_bytes((RECIPES / file).read_bytes())
    saved = shared_claim.directory / "finetune"
    options = ("--save-every", "2", "--global-batch", "4", "--rank", "2")

    def run(*resume: str, steps: int) -> str:
        started = ["run", str(project / "finetune.py"), "-n", namespace, "--restarts", "0", "-e", "OMP_NUM_THREADS=1"]
        place = ("--checkpoints", shared_claim.name)
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


@pytest.mark.long
def test_what_only_the_program_can_refuse_is_its_sentence_and_one_command_clears_the_job(
    cluster: Cluster, namespace: str, shared_claim: SharedClaim, tmp_path: Path
) -> None:
    """The program alone knows its model, its batch and what stands in a checkpoint: the job is there when it says so."""
    (project := tmp_path / "project").mkdir()
    (project / "lm.py").write_bytes((RECIPES / "lm.py").read_bytes())
    saved = shared_claim.directory / "lm"

    def run(options: str, words: str, place: str = shared_claim.name) -> subprocess.CompletedProcess[str]:
        started = ["run", str(project / "lm.py"), "-n", namespace, "--checkpoints", place, *options.split()]
        # With ConfigMaps and a runtime of its own, which must go with the job.
        whole = ["--snapshot", "--restarts", "1", "-e", "OMP_NUM_THREADS=1"]
        tiny = ["--layers", "1", "--sequence", "16", "--save-every", "2"]
        return cluster.shunter(*started, *whole, "--", *tiny, *words.split(), timeout=110)

    def left() -> list[str]:
        kinds = ("trainjobs", "trainingruntimes", "configmaps", "pods")
        objects = [one for kind in kinds for one in cluster.get(kind, "-n", namespace)["items"]]
        return [one["metadata"]["name"] for one in objects if one["metadata"]["name"] != "kube-root-ca.crt"]

    def refused(options: str, words: str, sentence: str) -> None:
        done = run(options, words)
        assert (done.returncode, sentence in done.stderr) == (1, True), done.stderr
        assert "Traceback" not in done.stderr + done.stdout
        (command,) = re.findall(r"remove it: shunter (.+)", done.stderr)
        assert left()
        assert cluster.shunter(*command.split()).returncode == 0
        assert left() == []

    made = run("", "--dim 16 --steps 2")
    assert made.returncode == 0, made.stderr
    assert cluster.shunter("delete", "lm", "-n", namespace).returncode == 0
    refused("--nodes 2 --name odd", "--global-batch 3", "--global-batch 3 must be a multiple of 2 ranks x --accumulate 1.")
    goes_on = "--name lm -e SHUNTER_MUST_RESUME=true"
    refused(goes_on, "--dim 32 --steps 4", "was made with dim 16, this run has 32. Use 16, or another --checkpoint-dir.")
    next(saved.glob("step-2/*.distcp")).unlink()
    refused(goes_on, "--dim 16 --steps 4", "step-2 is damaged: remove it, and training resumes from the previous one.")
    if cluster.kind == "embedded":  # which also keeps checkpoints in directories of this machine, and looks into those itself

        def known(sentence: str) -> None:
            done = run("--resume lm", "--dim 16 --steps 4", str(saved.parent))
            assert (done.returncode, sentence in done.stderr, left()) == (2, True, []), done.stderr

        known(f"--resume lm: {saved}/step-2 is damaged: __0_0.distcp is missing.")
        (saved / "step-2/.metadata").unlink()
        known(f"--resume lm: no complete checkpoint in {saved}")


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
