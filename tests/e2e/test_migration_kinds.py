"""Converted jobs train as v1 trained them: from the same seed as many processes come to the same loss in each step."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

from e2e.running_cluster import Cluster
from shunter.api.meta import Json
from shunter.migrate.conversion.one_job import convert
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.options import Options

MANIFESTS = Path(__file__).parent / "manifests/migration"
EXAMPLES = Path(__file__).parents[2] / "examples/v1"
STEPS = 8
RANKS = 2

pytestmark = pytest.mark.timeout(180)


@pytest.mark.parametrize(
    ("job", "accepted"),
    [
        pytest.param("tfjob", (), marks=pytest.mark.long),
        ("xgboostjob", ()),
        ("jaxjob", ()),
        pytest.param("paddlejob", (), marks=pytest.mark.long),
        ("mpijob", ("MPI001",)),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_converted_job_has_the_losses_of_v1(cluster: Cluster, namespace: str, job: str, accepted: tuple[str, ...]) -> None:
    source = yaml.safe_load((MANIFESTS / f"{job}.yaml").read_text())
    assert_same_losses(cluster, namespace, source, accepted)


def test_roles_with_a_replicated_job_each_have_the_losses_of_v1(cluster: Cluster, namespace: str) -> None:
    """A Worker's rank is then the place of its Job among all."""
    source = yaml.safe_load((MANIFESTS / "xgboostjob.yaml").read_text())
    source["spec"]["xgbReplicaSpecs"]["Worker"]["restartPolicy"] = "ExitCode"
    runtime = assert_same_losses(cluster, namespace, source)
    assert [group["name"] for group in runtime["spec"]["template"]["spec"]["replicatedJobs"]] == ["master", "worker"]


def assert_same_losses(cluster: Cluster, namespace: str, source: Json, accepted: tuple[str, ...] = ()) -> Json:
    """The runtime of the converted job."""
    source["metadata"]["namespace"] = namespace
    conversion = convert(SourceObject(source, "job.yaml"), Options(accepted=accepted))
    assert not conversion.is_blocked, [finding.message for finding in conversion.findings if finding.is_blocking]
    before = losses(cluster, source)
    assert len(before) == RANKS * STEPS
    assert conversion.runtime is not None
    cluster.apply(conversion.runtime)
    assert losses(cluster, conversion.train_job) == before
    return conversion.runtime


def losses(cluster: Cluster, job: Json) -> dict[tuple[str, str], str]:
    """By rank and step, what the job prints until it has succeeded."""
    done = cluster.shunter("run", "-", stdin=json.dumps(job), timeout=90)
    assert done.returncode == 0, done.stderr + done.stdout
    found = re.findall(r"rank=(\d+/\d+) step=(\d+) loss=(\S+)", done.stdout)
    return {(rank, step): loss for rank, step, loss in found}


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "example",
    [
        pytest.param("tfjob-multiworker", marks=pytest.mark.long),
        "mpijob-allreduce",
        pytest.param("paddlejob-collective", marks=pytest.mark.long),
    ],
)
def test_a_shipped_example_and_its_conversion_are_found_equal(cluster: Cluster, namespace: str, example: str) -> None:
    """They print no loss: what can be seen decides, and what could not is said."""
    source = yaml.safe_load((EXAMPLES / f"{example}.yaml").read_text())
    source["metadata"]["namespace"] = namespace
    conversion = convert(SourceObject(source, "job.yaml"), Options(accepted=("MPI001",)))
    assert conversion.runtime is not None
    name, kind = source["metadata"]["name"], source["kind"].lower()
    for objects, job, end in (
        ([source], kind, "Succeeded"),
        ([conversion.runtime, conversion.train_job], "trainjob", "Complete"),
    ):
        cluster.apply(*objects)
        cluster.kubectl("wait", f"{job}/{name}", "-n", namespace, f"--for=condition={end}", "--timeout=120s")
    done = cluster.shunter("migrate", "compare", f"{kind}/{name}", f"trainjob/{name}", "-n", namespace)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r": equal; not seen: .*final metrics", done.stderr), done.stderr
