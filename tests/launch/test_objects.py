"""From options to objects: YAML of whole jobs, and what must hold for all of them."""

from __future__ import annotations

import dataclasses
import hashlib
import io
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from shunter.api.meta import Json
from shunter.launch.annotations import CODE_LABEL, DIGEST, RERUN_OF
from shunter.launch.checkpoints.location import checkpoint_location
from shunter.launch.code.delivery import ImageCode, MountedCode, PackedCode
from shunter.launch.code.packing import Entry, archive
from shunter.launch.objects import checkpoints_of, launch, rerun_job, shutdown_seconds, stored_code, train_job
from shunter.launch.options import Checkpoints, ClaimVolume, LaunchOptions, Program
from shunter.launch.runtimes.choice import Runtime
from shunter.launch.tracking import Tracking

SCENARIOS = Path(__file__).parent / "objects"
TORCH = Runtime("torch-distributed", "torch")
MPI = Runtime("deepspeed-distributed", "deepspeed")
CODE = PackedCode(archive([Entry("train.py", b"print('trained')\n")]), 1)
CASES: dict[str, tuple[dict[str, Any], Any, Runtime]] = {
    "mounted": ({"checkpoints": Checkpoints(directory="/state/checkpoints/team")}, MountedCode("/home/me/project"), TORCH),
    "packed": (
        {
            "program": Program(path="src/train.py", arguments=("--lr", "3e-4", "a b", "$HOME", "$(PYTHONUNBUFFERED)", "--")),
            "nodes": 2,
            "gpus": 8,
            "cpus": "32",
            "memory": "64Gi",
            "environment": ({"name": "A", "value": "1"}, {"name": "PYTHONUNBUFFERED", "value": "0"}),
            "image": "me/train:1",
            "volumes": (ClaimVolume("data", "/data", read_only=True),),
            "checkpoints": Checkpoints(claim="runs", inside="team/a"),
            "grace_seconds": 300,
            "queue": "gpus",
            "labels": {"team": "vision"},
            "deadline_seconds": 3600,
        },
        # Not a real archive: compressed bytes differ between versions of zlib.
        PackedCode(b"archive", 1, commit="c" * 40, is_dirty=True),
        TORCH,
    ),
    "module in the image": (
        {"program": Program(module="pkg.train"), "procs": 2, "image": "me/train:1", "checkpoints": Checkpoints(url="s3://b/p")},
        ImageCode(),
        TORCH,
    ),
    "tracked": (
        {
            "environment": ({"name": "MLFLOW_EXPERIMENT_NAME", "value": "mine"},),
            "tracking": Tracking("https://mlflow.example.com", job_id="0123456789"),
        },
        MountedCode("/p"),
        Runtime("jax-distributed", "jax"),
    ),
    "jax": ({"nodes": 2}, MountedCode("/p"), Runtime("jax-distributed", "jax", kind="TrainingRuntime")),
    "mpi": (
        {
            "nodes": 2,
            "procs": 4,
            "program": Program(path="train.py", arguments=("--lr", "a b")),
            "environment": ({"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "hub", "key": "TOKEN"}}},),
            "checkpoints": Checkpoints(claim="runs"),
        },
        PackedCode(b"archive", 1),
        MPI,
    ),
}


def objects(case: str) -> list[Json]:
    fields, code, runtime = CASES[case]
    options = LaunchOptions(**{"program": Program(path="train.py"), **fields})
    return launch(options, code, runtime, name="train-2", namespace="team")


@pytest.mark.parametrize("case", CASES)
def test_a_program_becomes_these_objects(case: str) -> None:
    golden = SCENARIOS / f"{case.replace(' ', '-')}.yaml"
    assert objects(case) == list(yaml.safe_load_all(golden.read_text()))


def test_code_is_in_immutable_maps_named_by_its_digest() -> None:
    large = PackedCode(b"x" * 2_000_000)
    *maps, job = launch(LaunchOptions(program=Program(path="train.py")), large, TORCH, name="train", namespace="team")
    digest = hashlib.sha256(large.archive).hexdigest()
    assert [found["metadata"]["name"] for found in maps] == [f"code-{digest[:10]}-{number}" for number in range(3)]
    assert all(found["immutable"] for found in maps)
    stored = stored_code(job)
    assert stored is not None
    assert (stored.digest, stored.count) == (digest, 3)


@pytest.mark.integration
@pytest.mark.parametrize("changed", [False, True], ids=["what was sent", "something else"])
def test_the_pod_unpacks_what_was_sent_and_nothing_else(tmp_path: Path, changed: bool) -> None:
    *maps, job = launch(LaunchOptions(program=Program(path="train.py")), CODE, TORCH, name="train", namespace="team")
    text: str = job["spec"]["trainer"]["command"][2]
    (tmp_path / "packed").mkdir()
    (tmp_path / "code").mkdir()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/python").symlink_to(sys.executable)
    (tmp_path / "packed/code.000").write_bytes(CODE.archive + b"x" * changed)
    here = text.replace("/workspace", str(tmp_path))
    environment = {"PATH": f"{tmp_path}/bin:/usr/bin:/bin"}
    done = subprocess.run(["sh", "-c", here, "train.py"], env=environment, capture_output=True, text=True, check=False)
    if changed:
        assert done.returncode == 1
        assert "is not what was sent" in done.stderr
        assert not list((tmp_path / "code").iterdir())
    else:
        assert (done.returncode, done.stdout) == (0, "trained\n"), done.stderr
    assert len(maps) == 1


def write_program(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!{sys.executable}\nimport os, signal, sys\n{text}")
    path.chmod(0o755)


NODES = {
    "the second of three": (
        {"PET_NODE_RANK": "1", "PET_NNODES": "3", "PET_MASTER_ADDR": "train-node-0-0.train", "PET_MASTER_PORT": "29400"},
        "1 3 0 1 1 3 train-node-0-0.train 29400",
    ),
    "a runtime that tells nothing": ({}, "0 1 0 1 0 1 localhost 29500"),
}


@pytest.mark.integration
@pytest.mark.parametrize(("told", "ranks"), NODES.values(), ids=NODES)
def test_a_process_that_is_alone_on_its_node_gets_what_torchrun_would_tell_it(
    tmp_path: Path, told: dict[str, str], ranks: str
) -> None:
    names = [
        "RANK",
        "WORLD_SIZE",
        "LOCAL_RANK",
        "LOCAL_WORLD_SIZE",
        "GROUP_RANK",
        "GROUP_WORLD_SIZE",
        "MASTER_ADDR",
        "MASTER_PORT",
    ]
    write_program(tmp_path / "bin/python", f"print(sys.argv[1:], *map(os.environ.get, {names}))\n")
    options = LaunchOptions(program=Program(module="pkg.train", arguments=("--log", "a b")), nodes=3)
    trainer = launch(options, ImageCode(), TORCH, name="train", namespace="team")[-1]["spec"]["trainer"]
    environment = {"PATH": f"{tmp_path}/bin:/usr/bin:/bin", **told}
    done = subprocess.run([*trainer["command"], *trainer["args"]], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == f"['-m', 'pkg.train', '--log', 'a b'] {ranks}\n"


PROGRAMS = {
    "one that succeeds": ("", 0, False),
    "one that fails": ("sys.exit(3)", 3, False),
    "one that is killed": ("os.kill(os.getpid(), 9)", 137, False),
    "one that is told to stop before it has asked for that": ("signal.pause()", 143, True),
    "one that ends in its own way when told to stop": (
        "signal.signal(signal.SIGTERM, lambda *_: (print('saved'), sys.exit(5))); print('ready', flush=True); signal.pause()",
        5,
        True,
    ),
}


@pytest.mark.integration
@pytest.mark.parametrize(("body", "code", "is_stopped"), PROGRAMS.values(), ids=PROGRAMS)
def test_the_first_process_passes_sigterm_on_and_ends_as_the_program(
    tmp_path: Path, body: str, code: int, is_stopped: bool
) -> None:
    write_program(tmp_path / "bin/python", f"print('ready', flush=True)\n{body}\n")
    job = launch(LaunchOptions(program=Program(path="train.py")), ImageCode(), TORCH, name="train", namespace="team")[-1]
    command = job["spec"]["trainer"]["command"]
    with subprocess.Popen(command, env={"PATH": f"{tmp_path}/bin:/usr/bin:/bin"}, stdout=subprocess.PIPE, text=True) as shell:
        assert shell.stdout is not None
        for _ in range(body.count("ready") + 1):
            assert shell.stdout.readline() == "ready\n"
        if is_stopped:
            shell.terminate()
        rest = shell.stdout.read()
        assert shell.wait(30) == code
    assert rest == ("saved\n" if "saved" in body else "")


def test_a_job_runs_again_as_it_was() -> None:
    first = objects("packed")[-1]
    stored = {**first, "spec": {**first["spec"], "suspend": False, "managedBy": "trainer.kubeflow.org/trainjob-controller"}}
    again = rerun_job(stored, "train-3", job_id="2")
    assert again["metadata"]["labels"] == first["metadata"]["labels"]
    assert again["metadata"]["annotations"] == first["metadata"]["annotations"] | {RERUN_OF: "train"}
    fresh = {**again["spec"]["trainer"]}
    place = next(variable for variable in fresh["env"] if variable["name"] == "SHUNTER_CHECKPOINT_DIR")
    assert place["value"] == "/workspace/checkpoints/train-3", "another job's checkpoints are not resumed by accident"
    place["value"] = "/workspace/checkpoints/train-2"
    assert again["spec"] == first["spec"]
    assert first["metadata"]["labels"][CODE_LABEL] == first["metadata"]["annotations"][DIGEST][:10]


def checkpoint_variable(job: Json) -> str:
    environment: list[Json] = job["spec"]["trainer"]["env"]
    return next(str(variable["value"]) for variable in environment if variable["name"] == "SHUNTER_CHECKPOINT_DIR")


@pytest.mark.parametrize("checkpoints", [Checkpoints(claim="data"), Checkpoints(url="s3://b/p")], ids=["claim", "bucket"])
def test_a_job_resumes_another_only_when_told_to(checkpoints: Checkpoints) -> None:
    options = LaunchOptions(program=Program(path="train.py"), checkpoints=checkpoints, resume="train")
    job = train_job(options, ImageCode(), TORCH, name="train-2", namespace="team")
    place = checkpoints.url or "/workspace/checkpoints"
    assert checkpoint_variable(job) == f"{place}/train"
    again = rerun_job(job, "train-3", job_id="2")
    assert checkpoint_variable(again) == f"{place}/train-3", "what runs again begins anew"
    assert checkpoint_variable(rerun_job(again, "train-4", job_id="2")) == f"{place}/train-4"


def test_an_archive_has_no_times_and_no_owners() -> None:
    with tarfile.open(fileobj=io.BytesIO(CODE.archive)) as tar:
        assert [(member.mtime, member.uid, member.gid, member.uname, member.gname) for member in tar] == [(0, 0, 0, "", "")]


PLACES = {
    "claim": Checkpoints(claim="runs"),
    "below a claim": Checkpoints(claim="runs", inside="a/b"),
    "directory": Checkpoints(directory="/ck"),
    "bucket": Checkpoints(url="s3://models/runs"),
}


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_a_job_says_where_its_checkpoints_are(place: Checkpoints) -> None:
    options = LaunchOptions(program=Program(path="train.py"), checkpoints=place)
    job = train_job(options, CODE, TORCH, name="first", namespace="team")
    resumed = train_job(dataclasses.replace(options, resume="first"), CODE, TORCH, name="second", namespace="team")
    again = rerun_job(resumed, "third", job_id="0")
    assert [checkpoints_of(one) for one in (job, resumed, again)] == [place] * 3
    must_find_one = [
        {variable["name"]: variable["value"] for variable in one["spec"]["trainer"]["env"]}.get("SHUNTER_MUST_RESUME")
        for one in (job, resumed, again)
    ]
    assert must_find_one == [None, "true", None], "a job that runs again begins with a place of its own"


@pytest.mark.parametrize("url", ["s3://models/runs/first/", "S3://models/runs/first"], ids=["a slash at its end", "upper case"])
def test_a_place_that_was_written_by_hand_is_the_same_for_all_who_read_it(url: str) -> None:
    """The listing, the search for other writers and a rerun read it each in another way: a rerun wrote into its place."""
    by_hand = ({"name": "SHUNTER_CHECKPOINT_DIR", "value": url},)
    options = LaunchOptions(program=Program(path="train.py"), environment=by_hand)
    job = train_job(options, CODE, TORCH, name="first", namespace="team")
    location = checkpoint_location(job)
    assert location is not None
    assert (location.path, location.name) == ("s3://models/runs/first", "first")
    assert checkpoints_of(job) == Checkpoints(url="s3://models/runs")
    assert checkpoint_variable(rerun_job(job, "second", job_id="0")) == "s3://models/runs/second"


def test_a_job_that_was_told_by_hand_does_not_say_where_its_checkpoints_are() -> None:
    by_hand = ({"name": "SHUNTER_CHECKPOINT_DIR", "value": "/data/mine"},)
    for place in (Checkpoints(claim="runs"), None):
        options = LaunchOptions(program=Program(path="train.py"), checkpoints=place, environment=by_hand)
        assert checkpoints_of(train_job(options, CODE, TORCH, name="first", namespace="team")) is None
    assert checkpoints_of({"metadata": {"name": "manifest"}, "spec": {}}) is None


@pytest.mark.parametrize(("grace", "shutdown"), [(300, 280), (120, 100), (40, 20), (30, 15), (1, 0)])
def test_torchrun_ends_before_its_pod_is_killed(grace: int, shutdown: int) -> None:
    assert shutdown_seconds(grace) == shutdown
