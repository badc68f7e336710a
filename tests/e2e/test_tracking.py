"""`shunter run --mlflow`: what the program finds, what is refused, and a job of two ranks that starts twice and is one run."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.embedded_cluster import EmbeddedCluster
from e2e.running_cluster import REPOSITORY, Cluster, SharedClaim, own_address
from recipes.mlflow_server import Runs, mlflow_server

pytestmark = pytest.mark.timeout(400)

JAX = "--runtime=jax-distributed"
"""Starts a program with python alone."""

TELLING = """\
import os
for name in ("MLFLOW_TRACKING_URI", "MLFLOW_EXPERIMENT_NAME", "MLFLOW_RUN_NAME", "SHUNTER_JOB", "MLFLOW_TRACKING_TOKEN"):
    print(name, os.environ.get(name))
"""

TWICE = """\
import os, pathlib, sys, threading
from progress import Progress
from tracking import Tracking

class Noting(Progress):
    known = threading.Event()  # an import of mlflow may take more than the ten seconds of a close on a busy machine

    def note(self, name, text):
        super().note(name, text)
        if name == "mlflow.run":
            self.known.set()

place = pathlib.Path(os.environ["SHUNTER_CHECKPOINT_DIR"])
first = not (place / "step-10").exists()
progress = Noting()
tracking = Tracking({"lr": 0.1 if first else 0.2, "ranks": os.environ["WORLD_SIZE"]}, progress=progress)
for step in range(1, 11) if first else range(8, 21):
    tracking.log(step, loss=step)
    progress.report(step=step, steps=20, loss=step)
if os.environ["RANK"] == "0":
    progress.known.wait(120)
if first and os.environ["RANK"] == "0":
    tracking.close("FAILED")
    (place / "step-10").touch()
    sys.exit("a fault")
tracking.close()
progress.close()
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    for recipe in ("tracking.py", "progress.py"):
        shutil.copy(REPOSITORY / "examples/recipes" / recipe, root)
    return root


def test_a_program_is_told_of_its_server_and_gets_credentials_from_a_secret(
    cluster: Cluster, namespace: str, project: Path
) -> None:
    (project / "train.py").write_text(TELLING)
    metadata = {"name": "mlflow", "namespace": namespace}
    cluster.apply({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": {"MLFLOW_TRACKING_TOKEN": "s3cret"}})
    run = ["run", str(project / "train.py"), "-n", namespace, JAX, "--snapshot", "--mlflow", "http://mlflow.invalid:5000"]
    done = cluster.shunter(*run, "--env-from", "secret/mlflow")
    assert done.returncode == 0, done.stderr
    assert f"MLflow: http://mlflow.invalid:5000, experiment {namespace}, run train\n" in done.stderr
    told = dict(line.removeprefix("[node-0] ").split() for line in done.stdout.splitlines())
    assert told == {
        "MLFLOW_TRACKING_URI": "http://mlflow.invalid:5000",
        "MLFLOW_EXPERIMENT_NAME": namespace,
        "MLFLOW_RUN_NAME": "train",
        "SHUNTER_JOB": f"{namespace}/train",
        "MLFLOW_TRACKING_TOKEN": "s3cret",
    }
    assert "s3cret" not in json.dumps(cluster.get("trainjob", "train", "-n", namespace))
    again = cluster.shunter("run", "--rerun", "train", "-n", namespace)
    assert f"[node-0] SHUNTER_JOB {namespace}/train-2\n" in again.stdout, again.stderr
    assert "  MLflow   http://mlflow.invalid:5000, experiment" in cluster.shunter("describe", "train-2", "-n", namespace).stdout


REFUSED: dict[str, tuple[list[str], str]] = {
    "a password": (["--mlflow", "http://me:s3cret@mlflow"], "contains credentials"),
    "a directory": (["--mlflow", "./mlruns"], "is not the address of an MLflow server that pods can reach"),
    "a token in the job": (["--mlflow", "http://mlflow", "-e", "MLFLOW_TRACKING_TOKEN=s3cret"], "--env-from secret/SECRET"),
}


@pytest.mark.parametrize(("options", "message"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused_creates_nothing(
    cluster: Cluster, namespace: str, project: Path, options: list[str], message: str
) -> None:
    (project / "train.py").write_text(TELLING)
    done = cluster.shunter("run", str(project / "train.py"), "-n", namespace, "--detach", *options)
    assert done.returncode == 2
    assert message in done.stderr
    assert "s3cret" not in done.stderr
    assert cluster.get("trainjobs", "-n", namespace)["items"] == []


def test_a_server_of_the_cluster_is_for_the_embedded_one(cluster: Cluster, namespace: str, project: Path) -> None:
    if cluster.kind == "embedded":
        pytest.skip("it has one")
    (project / "train.py").write_text(TELLING)
    done = cluster.shunter("run", str(project / "train.py"), "-n", namespace, "--mlflow", "local", "--detach")
    assert (done.returncode, "--mlflow local is a server of the embedded cluster" in done.stderr) == (2, True), done.stderr
    assert cluster.get("trainjobs", "-n", namespace)["items"] == []


@pytest.mark.timeout(800)
def test_a_job_that_starts_twice_is_one_run_on_a_server_elsewhere(
    cluster: Cluster, namespace: str, shared_claim: SharedClaim, project: Path, tmp_path: Path
) -> None:
    if cluster.kind == "embedded":
        pytest.skip("is asked of the server that it has")
    (project / "train.py").write_text(TWICE)
    (tmp_path / "mlflow").mkdir()
    with mlflow_server(tmp_path / "mlflow", own_address()) as port:
        address = f"http://{own_address()}:{port}"
        run = ["run", str(project / "train.py"), "-n", namespace, "--nodes", "2", "--mlflow", address]
        done = cluster.shunter(*run, "--checkpoints", shared_claim.name, timeout=350)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "mlflow: parameter lr stays 0.1 in the run, although this start has 0.2" in done.stdout
        assert f"MLflow: {address}, experiment {namespace}, run train\n" in done.stderr
        runs = Runs(port, namespace, own_address())
        assert runs.curve() == [(step, float(step)) for step in range(1, 21)], "two starts of two ranks"
        assert (runs.one.data.params, runs.one.info.status) == ({"lr": "0.1", "ranks": "2"}, "FINISHED")
        assert runs.one.data.tags["shunter.dev/job"] == f"{namespace}/train"


@pytest.fixture
def own_cluster(tmp_path: Path) -> Iterator[EmbeddedCluster]:
    """A cluster of its own: MLflow's server takes half a gigabyte for as long as the cluster runs."""
    cluster = EmbeddedCluster(tmp_path / "state")
    cluster.up()
    yield cluster
    cluster.down()


def commands(page: str, heading: str) -> list[list[str]]:
    """Those of the first block below a heading, as words."""
    below = (REPOSITORY / page).read_text().split(f"\n## {heading}\n")[1]
    block = re.search(r"(?:^    .*\n)+", below, re.MULTILINE)
    assert block is not None
    return [shlex.split(line) for line in block[0].splitlines()]


@pytest.mark.long
@pytest.mark.embedded(why="only that has a server of its own")
@pytest.mark.xdist_group("mlflow")
@pytest.mark.timeout(800)
def test_a_job_that_starts_twice_is_one_run_on_the_clusters_own_server(own_cluster: EmbeddedCluster, project: Path) -> None:
    (project / "train.py").write_text(TWICE)
    run = ["run", str(project / "train.py"), "--nodes", "2", "--mlflow", "local"]
    printed = own_cluster.shunter(*run, "--dry-run")
    assert "http://mlflow.shunter-system.svc:" in printed.stdout, printed.stderr
    assert not own_cluster.state.mlflow.exists(), "a dry run starts nothing"
    done = own_cluster.shunter(*run, timeout=350)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "mlflow: parameter lr stays 0.1 in the run, although this start has 0.2" in done.stdout
    assert "mlflow: run train: its page is in shunter describe train -n default\n" in done.stdout
    assert "/#/experiments/" not in done.stdout, "no browser gets there by the name that pods know"

    record = own_cluster.state.read_record()
    assert record is not None
    runs = Runs(record.mlflow, "default")
    assert runs.curve() == [(step, float(step)) for step in range(1, 21)], "two starts of two ranks"
    assert runs.one.data.params == {"lr": "0.1", "ranks": "2"}
    assert (runs.one.info.run_name, runs.one.info.status) == ("train", "FINISHED")
    assert runs.one.data.tags["shunter.dev/job"] == "default/train"
    page = f"http://127.0.0.1:{record.mlflow}/#/experiments/{runs.one.info.experiment_id}/runs/{runs.one.info.run_id}"
    assert f"  MLflow   {page}\n" in own_cluster.shunter("describe", "train").stdout
    own_cluster.kubectl("delete", "trainjob", "train")
    assert runs.one.info.status == "FINISHED", "the run outlives its job"
    shutil.rmtree(own_cluster.state.checkpoints / "default")
    the_walk_of_the_docs(own_cluster, project, record.mlflow)


def the_walk_of_the_docs(cluster: EmbeddedCluster, project: Path, mlflow: int) -> None:
    """From a directory with a script to a resumed training, by the commands of docs/training/run.md as they stand there."""
    shutil.copy(REPOSITORY / "examples/recipes/lm.py", project / "train.py")
    small = ["--sequence", "16", "--dim", "16", "--heads", "2", "--layers", "1", "--global-batch", "4"]
    walk = commands("docs/training/run.md", "From an empty directory to curves and a resumed training")
    assert [words[1] for words in walk] == ["up", "run", "describe", "checkpoints", "run"]
    said = []
    for program, *words in walk:
        assert program == "shunter"
        done = cluster.shunter(*words, *(small if "--steps" in words else []), cwd=project, timeout=350)
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        said.append(done)
    _, trained, described, listed, resumed = said
    assert "TrainJob default/train succeeded" in trained.stderr
    assert "ddp on 2 ranks (cpu), from step 0 to 20" in trained.stdout
    assert f"  MLflow   http://127.0.0.1:{mlflow}/#/experiments/" in described.stdout
    assert "Checkpoint of step 20" in described.stdout
    assert [line.split()[0] for line in listed.stdout.splitlines()] == ["STEP", "20", "10"]
    assert "ddp on 2 ranks (cpu), from step 20 to 30" in resumed.stdout
    there = cluster.shunter("checkpoints", "train-2")
    assert ([line.split()[0] for line in there.stdout.splitlines()][:2], "in the location of train" in there.stderr) == (
        ["STEP", "30"],
        True,
    )
