"""What training pods are told about the status server."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import msgspec
import pytest

from shunter.api.meta import Json
from shunter.kube.controllers.plan import Apply, Plan
from shunter.operator.trainer.plan import Observed, plan
from shunter.operator.trainer.plugin import Companion
from shunter.operator.trainer.plugins.trainjobstatus import AUTHORITIES
from shunter.operator.trainer.render import rendered
from shunter.operator.trainer.snapshot import snapshot_of
from shunter.operator.trainer.statusserver.place import StatusServerPlace
from shunter.operator.trainer.views import ConfigMap

PLACE = StatusServerPlace("https://shunter-webhook.shunter-system.svc:10443", "PEM")
STATUS = "trainer.kubeflow.org/v1alpha1/namespaces/team-a/trainjobs/mnist/status"
Make = Callable[..., Any]


@pytest.fixture
def runtime(make_runtime: Make) -> Json:
    """With a second container, another trainer, and an initializer."""
    found: Json = make_runtime()
    jobs = found["spec"]["template"]["spec"]["replicatedJobs"]
    jobs[0]["template"]["spec"]["template"]["spec"]["containers"].append({"name": "sidecar", "image": "i"})
    labels = {"trainer.kubeflow.org/trainjob-ancestor-step": "dataset-initializer"}
    pods = {"spec": {"containers": [{"name": "dataset-initializer", "image": "i"}]}}
    jobs.append({"name": "dataset-initializer", "template": {"metadata": {"labels": labels}, "spec": {"template": pods}}})
    jobs.append({**jobs[0], "name": "second"})
    return found


def pod_specs(jobset: Json) -> dict[str, Json]:
    return {job["name"]: job["template"]["spec"]["template"]["spec"] for job in jobset["spec"]["replicatedJobs"]}


def test_every_container_of_the_first_trainer_is_told(make_trainjob: Make, runtime: Json) -> None:
    pods = pod_specs(rendered(make_trainjob(trainer={}), runtime, PLACE).jobset)
    for container in pods["node"]["containers"]:
        assert container["env"][-3:] == [
            {"name": "KUBEFLOW_TRAINER_SERVER_URL", "value": f"{PLACE.url}/apis/{STATUS}"},
            {"name": "KUBEFLOW_TRAINER_SERVER_CA_CERT", "value": "/var/run/secrets/kubeflow/trainer/ca.crt"},
            {"name": "KUBEFLOW_TRAINER_SERVER_TOKEN", "value": "/var/run/secrets/kubeflow/trainer/token"},
        ]
        mount = {"name": "kubeflow-trainer-token", "mountPath": "/var/run/secrets/kubeflow/trainer", "readOnly": True}
        assert container["volumeMounts"] == [mount]
    token = {"audience": STATUS, "expirationSeconds": 3600, "path": "token"}
    authorities = {"name": "mnist-tls-config", "items": [{"key": "ca.crt", "path": "ca.crt"}]}
    sources = [{"serviceAccountToken": token}, {"configMap": authorities}]
    assert pods["node"]["volumes"] == [{"name": "kubeflow-trainer-token", "projected": {"sources": sources}}]
    assert "volumes" not in pods["dataset-initializer"]
    assert "volumes" not in pods["second"]


def test_the_authorities_are_an_object_of_the_job(make_trainjob: Make, runtime: Json) -> None:
    (found,) = rendered(make_trainjob(), runtime, PLACE).objects
    assert (found["kind"], found["metadata"]["name"], found["data"]) == ("ConfigMap", "mnist-tls-config", {"ca.crt": "PEM"})
    assert found["metadata"]["ownerReferences"][0]["uid"] == "u1"


def test_nothing_is_added_when_nobody_listens(make_trainjob: Make, runtime: Json) -> None:
    without = rendered(make_trainjob(), runtime)
    assert without.objects == ()
    assert "volumes" not in pod_specs(without.jobset)["node"]


def observed(job: Any, runtime: Json, place: StatusServerPlace, companions: dict[Companion, ConfigMap]) -> Observed:
    owner = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "name": "mnist", "uid": "u1", "controller": True}
    body = snapshot_of(job, runtime)
    body["metadata"]["ownerReferences"] = [owner]
    return Observed(
        job=job, runtime=runtime, snapshot=msgspec.convert(body, ConfigMap), status_server=place, companions=companions
    )


def written(found: Plan) -> list[str]:
    return [write.body["metadata"]["name"] for write in found.writes if isinstance(write, Apply)]


def test_the_authorities_follow_those_of_the_server(make_trainjob: Make, runtime: Json, now: datetime) -> None:
    job = make_trainjob()
    body = rendered(job, runtime, PLACE).objects[0]
    present = {AUTHORITIES: msgspec.convert(body, ConfigMap)}
    assert "mnist-tls-config" not in written(plan(observed(job, runtime, PLACE, present), now))
    renewed = PLACE._replace(authorities="PEM, renewed")
    assert "mnist-tls-config" in written(plan(observed(job, runtime, renewed, present), now))


def test_a_job_waits_until_it_is_known_whom_to_trust(make_trainjob: Make, runtime: Json, now: datetime) -> None:
    found = plan(observed(make_trainjob(), runtime, PLACE._replace(authorities=""), {}), now)
    assert found.writes == ()
    assert found.events == ()
    assert found.requeue_after == 1.0
