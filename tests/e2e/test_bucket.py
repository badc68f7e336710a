"""`shunter run --checkpoints s3://`: a training that saves to a bucket of a real S3 server, and goes on from there."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from control_plane import GoMissing, build
from e2e.running_cluster import REPOSITORY, SHUNTER, Cluster
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


def own_address() -> str:
    """One of this machine's that pods reach, too: a pod has a loopback of its own. Nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        asking.connect(("192.0.2.1", 9))
        return str(asking.getsockname()[0])


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
        "job 'lm' saves in s3://models/runs/lm, which cannot be listed from here: Unable to locate credentials."
        in unlisted.stderr
    )
    assert "List it with: aws s3 ls s3://models/runs/lm/" in unlisted.stderr
    (project / "idle.py").write_text("")
    assert cluster.shunter("run", str(project / "idle.py"), *place).returncode == 0
    command = [*SHUNTER, "run", str(project / "idle.py"), *place, "--resume", "idle"]
    nothing_saved = subprocess.run(
        command, env=cluster.environment | server.environment(), capture_output=True, text=True, timeout=60, check=False
    )
    assert nothing_saved.returncode == 2, nothing_saved.stderr
    assert "there is no complete checkpoint in s3://models/runs/idle." in nothing_saved.stderr
    assert [job["metadata"]["name"] for job in cluster.get("trainjobs", "-n", namespace)["items"]] == ["idle", "lm"]
    resumed = run("--resume", "lm", steps=4)
    assert re.search("from step 2 to 4", resumed), resumed
    assert [key for key in server.names() if key.endswith(".metadata")] == [
        "runs/lm/step-2/.metadata",
        "runs/lm/step-4/.metadata",
    ]
    objects = cluster.kubectl("get", "trainjobs,jobsets,pods", "-n", namespace, "-o", "yaml")
    assert f"value: {server.environment()['AWS_SECRET_ACCESS_KEY']}" not in objects
