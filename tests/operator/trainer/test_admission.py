"""The webhooks: the defaulter's times, Go's words for values of a wrong type, what is asked and refused."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Literal

import msgspec
import pytest

from shunter.api.meta import Json, MetadataOnly, ObjectMeta
from shunter.api.resources import CLUSTER_TRAINING_RUNTIMES, TRAINING_RUNTIMES, Resource
from shunter.api.trainer.trainjob import TrainJob
from shunter.kube.cache.store import Store
from shunter.kube.client import Client
from shunter.kube.errors import NotFound, Status
from shunter.kube.webhooks.server import AdmissionRequest, AdmissionResponse
from shunter.operator.trainer.admission import (
    TrainerAdmission,
    configurations,
    validate_cluster_runtime,
    validate_runtime,
    with_patch_times,
)
from shunter.operator.trainer.go_types import go_decode_error
from shunter.operator.trainer.snapshot import snapshot_of
from shunter.operator.trainer.views import ConfigMap, Runtime

MakeRuntime = Callable[..., Json]

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
STAMP = "2026-11-21T12:00:00Z"
OLD = "2020-01-01T00:00:00Z"


def job(*patches: Json | None) -> Json:
    return {"spec": {"runtimePatches": list(patches)}}


@pytest.mark.parametrize(
    ("before", "after", "wanted"),
    [
        pytest.param(None, {"manager": "a"}, {"manager": "a", "time": STAMP}, id="new: stamped"),
        pytest.param(None, {"manager": "a", "time": OLD}, {"manager": "a", "time": OLD}, id="new with a time: kept"),
        pytest.param(None, None, {"time": STAMP}, id="null: an empty patch"),
        pytest.param(
            {"manager": "a", "time": OLD}, {"manager": "a", "time": STAMP}, {"manager": "a", "time": OLD}, id="same: the old time"
        ),
        pytest.param(
            {"manager": "a", "time": OLD},
            {"manager": "a", "time": OLD, "trainingRuntimeSpec": {}},
            {"manager": "a", "time": STAMP, "trainingRuntimeSpec": {}},
            id="changed: now",
        ),
    ],
)
def test_patches_are_stamped(before: Json | None, after: Json | None, wanted: Json) -> None:
    old = job(before) if before else None
    assert with_patch_times(job(after), old, NOW) == job(wanted)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (
            {"trainer": {"numProcPerNode": "auto"}},
            "json: cannot unmarshal string into Go struct field Trainer.spec.trainer.numProcPerNode of type int32",
        ),
        (
            {"trainer": {"numNodes": 1.5}},
            "json: cannot unmarshal number 1.5 into Go struct field Trainer.spec.trainer.numNodes of type int32",
        ),
        (
            {"trainer": {"env": [{"name": "A", "value": 1}]}},
            "json: cannot unmarshal number into Go struct field EnvVar.spec.trainer.env.value of type string",
        ),
        (
            {"runtimePatches": [{"time": "2020-01-01"}]},
            'parsing time "2020-01-01" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "T"',
        ),
        (["x"], "json: cannot unmarshal array into Go struct field TrainJob.spec of type v1alpha1.TrainJobSpec"),
        ("x", "json: cannot unmarshal string into Go struct field TrainJob.spec of type v1alpha1.TrainJobSpec"),
        (
            {"runtimePatches": "x"},
            "json: cannot unmarshal string into Go struct field TrainJobSpec.spec.runtimePatches of type []v1alpha1.RuntimePatch",
        ),
        (
            {"trainer": {"env": {"A": "1"}}},
            "json: cannot unmarshal object into Go struct field Trainer.spec.trainer.env of type []v1.EnvVar",
        ),
        (
            {"trainer": ["cpu"]},
            "json: cannot unmarshal array into Go struct field TrainJobSpec.spec.trainer of type v1alpha1.Trainer",
        ),
        ({"trainer": {"numNodes": 2.0, "resourcesPerNode": {"limits": {"cpu": 1.0}}}}, ""),
        ({"trainer": None, "runtimePatches": None}, ""),
    ],
)
def test_values_of_a_wrong_type_are_refused_in_gos_words(spec: Any, message: str) -> None:
    assert go_decode_error({"spec": spec}) == message


@pytest.mark.parametrize(
    ("processes", "remedy"),
    [
        ("auto", "; numProcPerNode is a number: leave it out for auto, which is a process for each GPU, else for each CPU"),
        ("4", "; write 4 without quotes"),
        (1.5, ""),
    ],
)
async def test_what_numprocpernode_was_before_is_told_what_it_is_now(processes: Any, remedy: str) -> None:
    request = review(trainer={"numProcPerNode": processes})
    answer = trainer_admission(Server()).default(request)
    assert (answer.allowed, answer.code) == (False, 400)
    assert answer.message == f"{go_decode_error(request.object)}{remedy}"


class Server(Client):
    """A server that has what it is given, and counts what is asked of it."""

    def __init__(self, *priority_classes: str) -> None:
        self.priority_classes = priority_classes
        self.asked: list[str] = []

    async def get(self, resource: Resource, name: str, *arguments: object, **options: object) -> object:  # type: ignore[override]
        self.asked.append(f"{resource.kind}/{name}")
        if name in self.priority_classes:
            return MetadataOnly(metadata=ObjectMeta(name=name))
        raise NotFound(Status(code=404, reason="NotFound", message="not found"))


def trainer_admission(server: Client, *runtimes: Json, snapshots: tuple[ConfigMap, ...] = ()) -> TrainerAdmission:
    stores: dict[Resource, Store[Runtime]] = {TRAINING_RUNTIMES: Store(), CLUSTER_TRAINING_RUNTIMES: Store()}
    for runtime in runtimes:
        resource = TRAINING_RUNTIMES if runtime["kind"] == TRAINING_RUNTIMES.kind else CLUSTER_TRAINING_RUNTIMES
        stores[resource].put(msgspec.convert(runtime, Runtime))
    config_maps: Store[ConfigMap] = Store()
    for snapshot in snapshots:
        config_maps.put(snapshot)
    return TrainerAdmission(server, stores, config_maps, Store(), now=lambda: NOW)


def review(operation: Literal["CREATE", "UPDATE"] = "CREATE", *, old: Json | None = None, **spec: Any) -> AdmissionRequest:
    reference = {"kind": "TrainingRuntime", "name": "torch", "apiGroup": "trainer.kubeflow.org"}
    obj = {"metadata": {"name": "mnist", "namespace": "team-a", "uid": "u1"}, "spec": {"runtimeRef": reference, **spec}}
    return AdmissionRequest(uid="1", operation=operation, object=obj, old_object=old or (obj if operation == "UPDATE" else None))


async def test_only_gangs_of_volcano_make_the_server_be_asked(make_runtime: MakeRuntime) -> None:
    runtime = make_runtime()
    pods = runtime["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    pods["priorityClassName"] = "high"
    server = Server("high")
    assert (await trainer_admission(server, runtime).validate(review())).allowed
    assert server.asked == []
    runtime["spec"]["podGroupPolicy"] = {"volcano": {}}
    assert (await trainer_admission(server, runtime).validate(review())).allowed
    assert server.asked == ["PriorityClass/high"]
    refused = await trainer_admission(Server(), runtime).validate(review())
    assert (refused.code, refused.message.endswith('PriorityClass.scheduling.k8s.io "high" not found')) == (403, True)


async def test_a_job_is_refused_whose_runtime_neither_the_cache_nor_the_server_has() -> None:
    server = Server()
    refused = await trainer_admission(server).validate(review())
    assert (refused.allowed, refused.code) == (False, 403)
    assert 'TrainingRuntime.trainer.kubeflow.org "torch" not found' in refused.message
    assert refused.message.endswith("specified trainingRuntime must be created before the TrainJob is created")
    assert server.asked == ["TrainingRuntime/torch"]


async def test_a_job_of_a_malformed_runtime_is_refused_with_the_field(make_runtime: MakeRuntime) -> None:
    runtime = make_runtime()
    runtime["spec"]["template"]["spec"]["replicatedJobs"] = "node"
    answer = await trainer_admission(Server(), runtime).validate(review())
    assert (answer.allowed, answer.code) == (False, 403)
    assert answer.message == "spec.template.spec.replicatedJobs of TrainingRuntime torch: must be a list, not a string"


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        pytest.param(
            {"trainer": {"env": [{"value": "1"}]}},
            "spec.trainer.env[0] of TrainJob mnist: object missing required field `name`",
            id="a variable without a name",
        ),
        pytest.param(
            {"trainer": {"resourcesPerNode": {"limits": 4}}},
            "spec.trainer.resourcesPerNode.limits of TrainJob mnist: must be an object, not an integer",
            id="amounts that are none",
        ),
        pytest.param(
            {
                "runtimePatches": [
                    {"manager": "a.io/b", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": ["node"]}}}}
                ]
            },
            "spec.runtimePatches[0].trainingRuntimeSpec.template.spec.replicatedJobs[0] of TrainJob mnist: "
            "must be an object, not a string",
            id="a patch of another shape",
        ),
    ],
)
async def test_what_would_be_merged_into_the_template_has_its_shape(make_runtime: MakeRuntime, spec: Json, message: str) -> None:
    answer = await trainer_admission(Server(), make_runtime()).validate(review(**spec))
    assert (answer.allowed, answer.message) == (False, message)


async def test_entries_without_a_name_are_merged_as_if_it_were_empty(make_runtime: MakeRuntime) -> None:
    pods = {"imagePullSecrets": [{}], "volumes": [{"name": ""}]}
    patched = {"name": "node", "template": {"spec": {"template": {"spec": pods}}}}
    patch = {"manager": "a.io/b", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [patched]}}}}
    assert (await trainer_admission(Server(), make_runtime()).validate(review(runtimePatches=[patch]))).allowed


async def test_one_answer_names_all_faults(make_runtime: MakeRuntime) -> None:
    trainer = {"env": [{"name": "PET_NNODES", "value": "1"}]}
    patches = [{"manager": "nobody", "trainingRuntimeSpec": {}}]
    initializer = {"dataset": {"storageUri": "hf://a/b"}}
    request = review(trainer=trainer, runtimePatches=patches, initializer=initializer)
    answer = await trainer_admission(Server(), make_runtime()).validate(request)
    assert answer.message.startswith("[")
    for text in ("must have dataset-initializer job", "domain-prefixed path", "invalid envs configured: [PET_NNODES]"):
        assert text in answer.message


def snapshot_by(job: TrainJob, runtime: Json) -> ConfigMap:
    body = snapshot_of(job, runtime)
    owner = {"apiVersion": "v1", "kind": "TrainJob", "name": "mnist", "uid": "u1", "controller": True}
    return msgspec.convert({**body, "metadata": {**body["metadata"], "ownerReferences": [owner]}}, ConfigMap)


async def test_an_update_after_the_runtime_went_is_judged_by_the_snapshot(make_runtime: MakeRuntime) -> None:
    snapshot = snapshot_by(msgspec.convert(review().object, TrainJob), make_runtime())
    request = review("UPDATE", suspend=True)
    assert (await trainer_admission(Server(), snapshots=(snapshot,)).validate(request)).allowed
    assert (await trainer_admission(Server()).validate(request)).allowed, "it met none, and is to be suspended"
    assert not (await trainer_admission(Server()).validate(review(suspend=True))).allowed, "a new job needs its runtime"


async def test_an_update_is_refused_for_what_it_makes_worse_only(make_runtime: MakeRuntime) -> None:
    """Upstream lets patches pass for what the runtime does not have; Kueue then adds its own."""

    def patch(manager: str, container: str) -> Json:
        pods = {"spec": {"template": {"spec": {"containers": [{"name": container}]}}}}
        template = {"spec": {"replicatedJobs": [{"name": "node", "template": pods}]}}
        return {"manager": manager, "trainingRuntimeSpec": {"template": template}}

    admission, stored = trainer_admission(Server(), make_runtime()), patch("acme.io/a", "nowhere")
    old = review(suspend=True, runtimePatches=[stored]).object

    async def updated(*patches: Json, **spec: Any) -> tuple[bool, str]:
        answer = await admission.validate(review("UPDATE", old=old, runtimePatches=[*patches], **spec))
        return answer.allowed, answer.message.rpartition(": ")[2]

    assert await updated(stored, suspend=False) == (True, "")
    assert await updated(stored, patch("kueue.x-k8s.io/manager", "node"), suspend=True) == (True, "")
    refused = (False, "must not have container that doesn't exist in the runtime job node")
    assert await updated(stored, patch("kueue.x-k8s.io/manager", "elsewhere"), suspend=True) == refused


async def test_a_job_of_a_runtime_that_cannot_be_read_can_be_suspended(make_runtime: MakeRuntime) -> None:
    runtime = make_runtime()
    runtime["spec"]["template"]["spec"]["replicatedJobs"] = "node"
    admission = trainer_admission(Server(), runtime)
    assert (await admission.validate(review("UPDATE", old=review().object, suspend=True))).allowed
    assert not (await admission.validate(review(suspend=True))).allowed


def test_a_shared_runtime_that_came_past_admission_can_be_changed_where_it_is_right() -> None:
    def runtime(replicas: int, **spec: Any) -> Json:
        labels = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
        pods = {"template": {"spec": {"containers": [{"name": "node"}]}}}
        job = {"name": "a", "replicas": replicas, "template": {"metadata": {"labels": labels}, "spec": pods}}
        return {"metadata": {"name": "rt"}, "spec": {"template": {"spec": {"replicatedJobs": [job]}}, **spec}}

    def updated(obj: Json) -> bool:
        return validate_cluster_runtime(AdmissionRequest(uid="1", operation="UPDATE", object=obj, old_object=runtime(2))).allowed

    assert updated(runtime(2, mlPolicy={"numNodes": 3}))
    assert not updated(runtime(3))
    assert updated(runtime(1))


async def test_a_change_of_the_runtime_keeps_no_job_that_met_it_before_from_being_updated(make_runtime: MakeRuntime) -> None:
    """It may have to be suspended. Its snapshot counts, as it does for its objects."""
    patch = {"spec": {"replicatedJobs": [{"name": "node", "template": {"spec": {"template": {"spec": {"nodeSelector": {}}}}}}]}}
    patches = [{"manager": "acme.io/a", "trainingRuntimeSpec": {"template": patch}}]
    request = review("UPDATE", suspend=True, runtimePatches=patches)
    snapshot = snapshot_by(msgspec.convert(request.object, TrainJob), make_runtime())
    changed = make_runtime()
    changed["spec"]["template"]["spec"]["replicatedJobs"][0]["name"] = "renamed"
    assert (await trainer_admission(Server(), changed, snapshots=(snapshot,)).validate(request)).allowed
    created = review(suspend=True, runtimePatches=patches)
    assert not (await trainer_admission(Server(), changed, snapshots=(snapshot,)).validate(created)).allowed


@pytest.mark.parametrize("account", [None, "default", "cache"])
async def test_an_account_that_a_runtime_names_and_nobody_makes_is_told(make_runtime: MakeRuntime, account: str | None) -> None:
    runtime = make_runtime()
    pods = runtime["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    pods["serviceAccountName"] = account
    created = await trainer_admission(Server(), runtime).validate(review())
    told = (
        "pods of node run as ServiceAccount cache, which no installation creates: unless it exists in "
        "namespace team-a, no pod is created; create it with the RBAC rules from the documentation of the "
        "runtime"
    )
    assert (created.allowed, [*created.warnings]) == (True, [told] if account == "cache" else [])
    updated = await trainer_admission(Server(), runtime).validate(review("UPDATE", old=review().object, suspend=True))
    assert not updated.warnings, "once is enough"


ANCESTORS = {"trainer": "node", "dataset-initializer": "dataset-initializer", "model-initializer": "model-initializer"}
CHECKS: dict[str, Callable[[AdmissionRequest], AdmissionResponse]] = {
    "TrainingRuntime": validate_runtime,
    "ClusterTrainingRuntime": validate_cluster_runtime,
}


@pytest.mark.parametrize("fault", ["replicas", "container"])
@pytest.mark.parametrize("ancestor", ANCESTORS)
@pytest.mark.parametrize(
    ("kind", "operation", "is_checked"),
    [
        ("TrainingRuntime", "CREATE", True),
        ("TrainingRuntime", "UPDATE", False),
        ("ClusterTrainingRuntime", "CREATE", True),
        ("ClusterTrainingRuntime", "UPDATE", True),
    ],
)
def test_labelled_jobs_of_runtimes_are_checked(
    kind: str, operation: Literal["CREATE", "UPDATE"], is_checked: bool, ancestor: str, fault: str
) -> None:
    name = "other" if fault == "container" else ANCESTORS[ancestor]
    containers = [{"name": name, "image": "i"}]
    job = {
        "name": "a",
        "replicas": 2 if fault == "replicas" else 1,
        "template": {
            "metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": ancestor}},
            "spec": {"template": {"spec": {"containers": containers}}},
        },
    }
    obj = {"metadata": {"name": "rt"}, "spec": {"template": {"spec": {"replicatedJobs": [job]}}}}
    answer = CHECKS[kind](AdmissionRequest(uid="1", operation=operation, object=obj))
    place = "spec.template.spec.replicatedJobs[0]"
    wanted = {
        "replicas": f"{place}.replicas: Invalid value: 2: always must be 1",
        "container": f"{place}.template.spec.template.spec.containers: Invalid value: "
        f'[{{"name":"other","image":"i","resources":{{}}}}]: must contain the required container for the ancestor: {ancestor}',
    }
    assert (answer.allowed, answer.message) == ((False, wanted[fault]) if is_checked else (True, ""))


@pytest.mark.parametrize(("operation", "count"), [("CREATE", 1), ("UPDATE", 0)])
def test_a_deprecated_shared_runtime_is_warned_of_when_it_is_made(operation: Literal["CREATE", "UPDATE"], count: int) -> None:
    obj = {"metadata": {"name": "old", "labels": {"trainer.kubeflow.org/support": "deprecated"}}, "spec": {"template": {}}}
    answer = validate_cluster_runtime(AdmissionRequest(uid="1", operation=operation, object=obj))
    assert len(answer.warnings) == count
    assert not validate_runtime(AdmissionRequest(uid="1", operation=operation, object=obj)).warnings


def test_webhooks_are_registered_as_upstreams() -> None:
    found = {
        (configuration.name, webhook.name, webhook.path, webhook.object_selector is not None)
        for configuration in configurations()
        for webhook in configuration.webhooks
    }
    validator = "validator.trainer.kubeflow.org"
    assert found == {
        (
            "defaulter.trainer.kubeflow.org",
            "defaulter.trainjob.trainer.kubeflow.org",
            "/mutate-trainer-kubeflow-org-v1alpha1-trainjob",
            False,
        ),
        *(
            (validator, f"validator.{kind}.trainer.kubeflow.org", f"/validate-trainer-kubeflow-org-v1alpha1-{kind}", has_selector)
            for kind, has_selector in (("trainjob", False), ("trainingruntime", True), ("clustertrainingruntime", True))
        ),
    }
