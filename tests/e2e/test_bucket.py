"""`shunter run --checkpoints s3://`: a training that saves to a bucket of a real S3 server, and goes on from there."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from control_plane import GoMissing, build
from e2e.running_cluster import REPOSITORY, SHUNTER, Cluster, own_address
from launch.checkpoints.test_torch_checkpoint import BYTES, METADATA
from recipes.s3_servers import S3Server, moto, versitygw

pytestmark = pytest.mark.timeout(300)

OPTIONS = ("--sequence", "16", "--dim", "32", "--heads", "2", "--save-every", "2")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[S3Server]:
    """moto imitates S3 where no Go can build a real server."""
    try:
        program = build("s3server")
    except GoMissing:
        with moto(own_address()) as server:
            yield server
    else:
        directory = tmp_path / "s3"
        directory.mkdir()
        with versitygw(program, directory, own_address()) as server:
            yield server


def test_a_job_goes_on_from_its_bucket(cluster: Cluster, namespace: str, server: S3Server, tmp_path: Path) -> None:
    """Its credentials come from a Secret, and stand in none of its objects."""
    (project := tmp_path / "project").mkdir()
    for recipe in ("lm.py", "buckets.py"):
        shutil.copy(REPOSITORY / "examples/recipes" / recipe, project)
    credentials = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s3", "namespace": namespace}}
    cluster.apply({**credentials, "stringData": server.environment()})
    place = ("-n", namespace, "--snapshot", "--checkpoints", "s3://models/runs", "--env-from", "secret/s3")

    def run(*options: str, steps: int) -> str:
        command = ["run", str(project / "lm.py"), *place, *options, "--", *OPTIONS, "--steps", str(steps)]
        done = cluster.shunter(*command, timeout=150)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def listed(environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
        command = [*SHUNTER, "checkpoints", "lm", "-n", namespace]
        own = {name: value for name, value in cluster.environment.items() if not name.startswith("AWS_")}
        nowhere = {"AWS_CONFIG_FILE": "/none", "AWS_SHARED_CREDENTIALS_FILE": "/none", "AWS_EC2_METADATA_DISABLED": "true"}
        return subprocess.run(command, env=own | nowhere | environment, capture_output=True, text=True, timeout=60, check=False)

    assert "saved step 2" in run(steps=2)
    assert [key for key in server.names() if key.endswith(".metadata")] == ["runs/lm/step-2/.metadata"]
    assert [line.split()[0] for line in listed(server.environment()).stdout.splitlines()] == ["STEP", "2"]
    unlisted = listed({})
    assert unlisted.returncode == 2
    assert (
        "job 'lm' saves in s3://models/runs/lm, which cannot be listed from this machine: Unable to locate credentials."
        in unlisted.stderr
    )
    assert "List it with: aws s3 ls s3://models/runs/lm/" in unlisted.stderr
    resumed = run("--resume", "lm", steps=4)
    assert re.search("from step 2 to 4", resumed), resumed
    assert [key for key in server.names() if key.endswith(".metadata")] == [
        "runs/lm/step-2/.metadata",
        "runs/lm/step-4/.metadata",
    ]
    objects = cluster.kubectl("get", "trainjobs,jobsets,pods", "-n", namespace, "-o", "yaml")
    assert f"value: {server.environment()['AWS_SECRET_ACCESS_KEY']}" not in objects


def test_what_the_jobs_credentials_do_not_find_or_may_not_do_creates_nothing(
    cluster: Cluster, namespace: str, server: S3Server, tmp_path: Path
) -> None:
    """Asked with those of the Secret: this shell has none."""
    (tmp_path / "train.py").write_text("")
    for name, environment in (("s3", server.environment()), ("other", server.environment(secret="wrong"))):
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": namespace}}
        cluster.apply({**secret, "stringData": environment})

    def run(*options: str, place: str = "s3://models/runs", secret: str = "s3") -> tuple[int, str]:
        command = ["run", str(tmp_path / "train.py"), "-n", namespace, "--runtime", "jax-distributed"]
        done = cluster.shunter(*command, "--checkpoints", place, "--env-from", f"secret/{secret}", *options)
        return done.returncode, done.stderr

    for refused, said in (
        (run(place="s3://nowhere/runs"), "--checkpoints s3://nowhere/runs, checked with the job's credentials: "),
        (run(secret="other"), "--checkpoints s3://models/runs, checked with the job's credentials: "),
        (run(secret="s3:AWS_KEY"), "--env-from secret/s3:AWS_KEY: the Secret has no such key."),
        (run(secret="none:AWS_KEY"), "--env-from secret/none:AWS_KEY: there is no Secret none in namespace"),
    ):
        assert (refused[0], said in refused[1]) == (2, True), refused
    assert (cluster.get("trainjobs", "-n", namespace)["items"], server.names()) == ([], [])

    assert run()[0] == 0
    code, nothing_saved = run("--resume", "train")
    assert code == 2
    assert "with the credentials of the job there is no complete checkpoint in s3://models/runs/train." in nothing_saved
    server.s3.put_object(Bucket="models", Key="runs/train/step-3/.metadata", Body=METADATA)
    code, damaged = run("--resume", "train")
    assert (code, "s3://models/runs/train/step-3 is damaged: __0_0.distcp is missing." in damaged) == (2, True), damaged
    assert [job["metadata"]["name"] for job in cluster.get("trainjobs", "-n", namespace)["items"]] == ["train"]
    server.s3.put_object(Bucket="models", Key="runs/train/step-3/__0_0.distcp", Body=bytes(BYTES))
    assert run("--resume", "train")[0] == 0
    for name in ("train", "train-2"):
        assert cluster.shunter("delete", name, "-n", namespace, "--now").returncode == 0
    assert run()[0] == 0, "a training of its own, not the next of that deleted job"
    assert [job["metadata"]["name"] for job in cluster.get("trainjobs", "-n", namespace)["items"]] == ["train-2"]
