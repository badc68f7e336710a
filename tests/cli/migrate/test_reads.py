"""Jobs whose programs read what changes: no command says of them that they are as they were in v1."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.migrate.calls import migrate

pytestmark = pytest.mark.integration

JOB = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: NAME}
spec:
  pytorchReplicaSpecs:
    Worker:
      replicas: 2
      restartPolicy: OnFailure
      template:
        spec:
          containers:
          - name: pytorch
            image: example.org/train:1
            command: [bash, -c, 'COMMAND']
"""


def _job(name: str, command: str) -> str:
    return JOB.replace("NAME", name).replace("COMMAND", command)


def test_proof_of_a_job_that_reads_its_host_name_says_how_far_it_reaches(tmp_path: Path) -> None:
    jobs = (_job("reads", "echo $HOSTNAME; torchrun train.py"), _job("reads-nothing", "torchrun train.py"))
    (tmp_path / "jobs.yaml").write_text("---\n".join(jobs))

    told = migrate("validate", "-f", "jobs.yaml", folder=tmp_path)
    reach = "but not how programs use names, ports or files that differ in v2"
    assert told.returncode == 0
    assert [line for line in told.stdout.splitlines() if "PyTorchJob reads:" in line and reach in line] != []
    assert "partly" in told.stdout
    assert "jobs.yaml:14:39: warning HOST010" in told.stderr
    assert f"1 of 2 reached pods as far as manifests say, {reach}" in told.stderr
    assert "1 of 2 reached pods: pods, process groups and endings are those of v1" in told.stderr

    compared = migrate("diff", "-f", "jobs.yaml", "-o", "json", folder=tmp_path)
    assert compared.returncode == 1
    assert [[read["id"] for read in job["unproved"]] for job in json.loads(compared.stdout)] == [["HOST010"], []]


def test_job_that_takes_its_rank_from_its_host_name_is_blocked(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(_job("decides", "test $(hostname) = decides-worker-0 && seed; torchrun train.py"))
    told = migrate("convert", "-f", "job.yaml", folder=tmp_path)
    assert told.returncode == 3
    assert "blocking HOST009" in told.stderr
    assert "Worker 1: decides-worker-1 in v1, decides-node-0-1 in v2" in told.stderr
    assert "Not checked: the contents of image example.org/train:1" in told.stderr


def test_code_that_is_fetched_or_lies_on_a_volume_is_named_as_not_checked(tmp_path: Path) -> None:
    fetching = '[{name: get, image: "git:1", command: [sh, -c, git clone https://example.org/x /code]}]'
    job = _job("a", "cd /work && torchrun train.py").replace(
        "containers:", f"initContainers: {fetching}\n          containers:", 1
    )
    (tmp_path / "job.yaml").write_text(job)
    told = migrate("convert", "-f", "job.yaml", folder=tmp_path)
    assert "Not checked: the contents of 2 images (git:1, example.org/train:1), what git clone fetches." in told.stderr
