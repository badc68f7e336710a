"""A further kind is two files of its own: with them, everything that lists kinds knows it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from shunter.api.meta import Json

pytestmark = pytest.mark.integration

SOURCE = Path(__file__).parents[3] / "src"
TOY = Path(__file__).parent / "toy_kind"

LOOK = """
import json
from datetime import UTC, datetime
import msgspec
from shunter.api.crds.generator import crd_of
from shunter.api.crds.custom_kinds import CUSTOM_KINDS
from shunter.jobs.training_pods import TRAINING_CONTAINERS
from shunter.cluster.apiserver.packaged_schemas import definitions
from shunter.install import manifests
from shunter.install.values import checked
from shunter.kube.webhooks.server import AdmissionRequest
from shunter.operator.kinds import served
from shunter.operator.overview import JOB_RESOURCES
from shunter.operator.process import webhook_configurations
from shunter.operator.training.admission import routes
from shunter.operator.training.frameworks import framework_of
from shunter.operator.training.observed import Observed
from shunter.operator.training.plan import plan

toy = framework_of("ToyJob")
template = {"spec": {"containers": [{"name": "toy", "image": "img:1"}]}}
def job(**spec):
    metadata = {"name": "car", "namespace": "nursery", "uid": "u1"}
    replicas = {"Worker": {"replicas": 2, "template": template}}
    spec = {"toyReplicaSpecs": replicas, **spec}
    return {"apiVersion": "kubeflow.org/v1", "kind": "ToyJob", "metadata": metadata, "spec": spec}
made = plan(toy, Observed(job=toy.read(msgspec.convert(job(wheels=4), toy.info.view))), datetime(2026, 11, 21, tzinfo=UTC))
validate = routes()["/validate-kubeflow-org-v1-toyjob"]
answers = [validate(AdmissionRequest(uid="1", object=obj)) for obj in (job(wheels=4), job())]
(custom,) = [kind for kind in CUSTOM_KINDS if kind.resource.kind == "ToyJob"]
crd = crd_of(custom, definitions())
objects = manifests.manifests(checked({}), namespace="here")
without = manifests.manifests(checked({"kinds": {"ToyJob": False}}), namespace="here")
print(json.dumps({
    "made": [write.body for write in made.writes],
    "status": made.status.desired,
    "answers": [[answer.allowed, answer.message] for answer in answers],
    "crd": crd,
    "jobs": [resource.kind for resource in JOB_RESOURCES],
    "container": "toy" in TRAINING_CONTAINERS,
    "only": [hook.name for found in webhook_configurations(served(["ToyJob"])) for hook in found.webhooks],
    "installed": sorted({obj["kind"] for obj in objects if "toyjob" in json.dumps(obj).lower()}),
    "not installed": [obj["kind"] for obj in without if "toyjob" in json.dumps(obj).lower()],
}))
"""


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Json:
    """What a Shunter with these two files more does."""
    source = tmp_path_factory.mktemp("with-toys") / "src"
    shutil.copytree(SOURCE, source, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(TOY / "api.py", source / "shunter/api/training/toy.py")
    shutil.copy(TOY / "framework.py", source / "shunter/operator/training/frameworks/toy.py")
    environment = {**os.environ, "PYTHONPATH": str(source)}
    done = subprocess.run([sys.executable, "-c", LOOK], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found: Json = json.loads(done.stdout)
    return found


def test_its_jobs_get_pods_and_services(seen: Json) -> None:
    names = [f"{body['kind']}/{body['metadata']['name']}" for body in seen["made"]]
    assert names == ["Pod/car-worker-0", "Pod/car-worker-1", "Service/car-worker-0", "Service/car-worker-1"]
    assert seen["made"][1]["spec"]["containers"][0] == {
        "name": "toy",
        "image": "img:1",
        "ports": [{"name": "toyjob-port", "containerPort": 7777}],
        "env": [{"name": "TOY", "value": "1 of 2 with 4 wheels"}],
    }
    assert seen["status"]["conditions"][0]["reason"] == "ToyJobCreated"


def test_admission_asks_its_rules(seen: Json) -> None:
    assert seen["answers"] == [[True, ""], [False, "spec.wheels: Required value: a toy rolls"]]
    assert seen["only"] == ["validator.toyjob.training-operator.kubeflow.org"]


def test_it_has_a_definition(seen: Json) -> None:
    assert seen["crd"]["metadata"]["name"] == "toyjobs.kubeflow.org"
    (version,) = seen["crd"]["spec"]["versions"]
    assert version["subresources"]["scale"]["specReplicasPath"] == ".spec.toyReplicaSpecs.Worker.replicas"
    spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
    assert (spec["required"], spec["properties"]["wheels"]["format"]) == (["toyReplicaSpecs"], "int32")


def test_commands_and_installation_know_it(seen: Json) -> None:
    assert "ToyJob" in seen["jobs"]
    assert seen["container"]
    assert seen["installed"] == ["ClusterRole", "Deployment", "Role", "ValidatingWebhookConfiguration"]


def test_it_can_be_left_out(seen: Json) -> None:
    assert seen["not installed"] == []
