"""How a runtime starts a program, and which cannot start or train."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from shunter.api.jobset import longest_name
from shunter.api.shapes import shaped
from shunter.api.trainer.trainjob import TrainJob
from shunter.errors import InputError
from shunter.fabrics import profiles
from shunter.launch.code.delivery import ImageCode
from shunter.launch.fabric import Fabric
from shunter.launch.objects import launch, train_job
from shunter.launch.options import LONGEST_NAME, LaunchOptions, Program
from shunter.launch.runtimes.choice import (
    LAUNCHERS,
    NOT_EMBEDDED,
    Runtime,
    longest_job_name,
    of_object,
    require_embedded,
    require_startable,
    start_command,
)
from shunter.operator.trainer.render import jobset_for
from shunter.operator.trainer.runtimes import shipped

TORCH = Runtime("torch-distributed", "torch")
MPI = Runtime("deepspeed-distributed", "deepspeed")


STARTABLE = [runtime for runtime in map(of_object, shipped()) if runtime.framework in LAUNCHERS]


@pytest.mark.parametrize("nodes", [1, 2, 12, 100])
@pytest.mark.parametrize("runtime", STARTABLE, ids=lambda runtime: runtime.name)
def test_a_job_may_have_no_longer_name_than_its_pods_allow(runtime: Runtime, nodes: int) -> None:
    """As its JobSet is."""
    options = LaunchOptions(program=Program(path="train.py"), nodes=nodes)
    job = train_job(options, ImageCode(), runtime, name="n", namespace="team")
    jobset = jobset_for(shaped(job, TrainJob), runtime.object)
    made = jobset["spec"]["replicatedJobs"]
    parts = [(one["name"], one.get("replicas", 1), one["template"]["spec"].get("parallelism", 1)) for one in made]
    most = longest_job_name(runtime, nodes)
    assert longest_name(parts) == most
    require_startable(runtime, options.named("n" * min(most, LONGEST_NAME)))
    if most < LONGEST_NAME:
        with pytest.raises(InputError, match=rf"has {most + 1} characters; .* of runtime {runtime.name} leave it at most {most}"):
            require_startable(runtime, options.named("n" * (most + 1)))


@pytest.mark.parametrize(
    ("options", "is_torchrun"),
    [
        ({"procs": 2}, True),
        ({"gpus": 8}, True),
        ({"environment": ({"name": "PET_MAX_RESTARTS", "value": "1"},)}, True),
        ({"nodes": 4}, False),
        ({"gpus": 1}, False),
    ],
    ids=["processes", "GPUs", "an option of torchrun", "nodes", "one GPU"],
)
def test_torchrun_starts_what_is_more_than_one_process_a_node(options: dict[str, Any], is_torchrun: bool) -> None:
    command = start_command(TORCH, LaunchOptions(program=Program(path="train.py"), **options))
    assert ("torch.distributed.run" in " ".join(command)) == is_torchrun


def test_a_variable_that_torchrun_sets_is_refused_where_it_would_be_ignored() -> None:
    options = LaunchOptions(program=Program(path="train.py"), environment=({"name": "WORLD_SIZE", "value": "8"},))
    with pytest.raises(InputError, match="--env WORLD_SIZE: runtime torch-distributed sets it for each process"):
        require_startable(TORCH, options)
    require_startable(Runtime("jax-distributed", "jax"), options)


@pytest.mark.integration
@pytest.mark.parametrize(("code", "ended"), [(2, 2), (3, 1)], ids=["wrong input", "anything else"])
def test_torchrun_ends_with_2_where_a_process_does(tmp_path: Path, code: int, ended: int) -> None:
    """What shunter-torch does not restart. The directory of the program may hold files with the names of others' modules."""
    (tmp_path / "train.py").write_text(f"import os, sys\nsys.exit({code} * int(os.environ['RANK']))\n")
    (tmp_path / "typing_extensions.py").write_text("raise SystemExit('not the one that torch means')\n")
    _, *words = start_command(TORCH, LaunchOptions(program=Program(path="train.py"), procs=2))
    environment = {**os.environ, "PET_NPROC_PER_NODE": "2", "PET_STANDALONE": "1"}
    done = subprocess.run(
        [sys.executable, *words], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == ended, done.stderr
    assert ("Traceback" in done.stderr) == (ended == 1)


@pytest.mark.integration
@pytest.mark.parametrize(
    ("program", "named"),
    [
        pytest.param(Program(path="a b.py"), "a b.py", id="script"),
        pytest.param(Program(path="-c.py"), "./-c.py", id="a script that Python would take for its option"),
        pytest.param(Program(module="pkg.train"), "pkg.train", id="module"),
    ],
)
def test_torchrun_takes_none_of_the_words_of_the_program(program: Program, named: str) -> None:
    run = pytest.importorskip("torch.distributed.run")
    words = ["--log", "x", "-m", "--", "--nnodes=3", "-h"]
    parsed = run.parse_args([*start_command(TORCH, LaunchOptions(program=program, procs=2))[3:], *words])
    assert (parsed.training_script, parsed.module) == (named, bool(program.module))
    assert (parsed.training_script_args, parsed.log_dir) == (words, None)


REFUSED: dict[str, tuple[dict[str, Any], Runtime, str]] = {
    "Flux": ({}, Runtime("flux-distributed", "flux"), "--runtime flux-distributed: .* starts the command with Flux"),
    "torchtune": ({}, Runtime("torchtune-llama3.2-1b", "torchtune"), "tune run.*, not programs; .*finetune.py"),
    "a fabric whose variables the ranks would not get": (
        {"fabric": Fabric(profiles()["ib"])},
        MPI,
        "--fabric: its variables would not reach the processes that mpirun starts",
    ),
    "another framework": ({}, Runtime("mine", "paddle"), "--runtime mine: .* is for paddle; run starts"),
    "an image that half of the pods would not get": (
        {"image": "me/train:1"},
        MPI,
        "--image me/train:1: .* the other nodes of runtime deepspeed-distributed would keep theirs",
    ),
    "no framework": ({}, Runtime("mine", ""), "has no label trainer.kubeflow.org/framework"),
    "processes that nobody starts": ({"procs": 4}, Runtime("jax-distributed", "jax"), "--procs 4: .* one process per node"),
    "workers that nobody starts": ({"gpus": 4}, Runtime("xgboost-distributed", "xgboost"), "--gpus 4: .* a worker for each GPU"),
}


@pytest.mark.parametrize(("fields", "runtime", "message"), REFUSED.values(), ids=REFUSED)
def test_what_a_runtime_cannot_start_is_refused(fields: dict[str, Any], runtime: Runtime, message: str) -> None:
    options = LaunchOptions(program=Program(path="train.py"), **fields)
    with pytest.raises(InputError, match=message):
        launch(options, ImageCode(), runtime, name="train", namespace="team")


def test_what_cannot_train_on_the_embedded_cluster_is_refused_there_with_the_reason() -> None:
    names = {runtime["metadata"]["name"] for runtime in shipped()}
    assert names > set(NOT_EMBEDDED)
    for name in names:
        if name in NOT_EMBEDDED:
            with pytest.raises(
                InputError, match=f"--runtime {name} does not train on the embedded cluster: .*{NOT_EMBEDDED[name][:20]}"
            ):
                require_embedded(Runtime(name, "torch"))
        else:
            require_embedded(Runtime(name, "torch"))
    require_embedded(Runtime("flux-distributed", "torch", kind="TrainingRuntime"))
