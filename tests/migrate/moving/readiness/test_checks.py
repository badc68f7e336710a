"""Each check: what it finds in which cluster, and what it says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from migrate.moving.moves import pytorch_job
from shunter.api.meta import Json
from shunter.api.resources import (
    CLUSTER_TRAINING_RUNTIMES,
    CONFIG_MAPS,
    CUSTOM_RESOURCE_DEFINITIONS,
    DEPLOYMENTS,
    JOBSETS,
    PODS,
    RESOURCE_QUOTAS,
    SERVICES,
    TRAIN_JOBS,
    VALIDATING_WEBHOOKS,
    Resource,
)
from shunter.api.scheduling.podgroups import VOLCANO_POD_GROUPS
from shunter.api.training.pytorch import PYTORCH_JOBS
from shunter.cluster.apiserver.packaged_schemas import packaged_crds
from shunter.errors import InputError
from shunter.kube.access import Request
from shunter.migrate.conversion.batch import converted
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.moving.readiness.assessment import all_checks, assessed, chosen
from shunter.migrate.moving.readiness.checks import permissions
from shunter.migrate.moving.readiness.facts import EXPERIMENTS, MPI_JOBS_V2BETA1, DryRunResult, Facts
from shunter.migrate.options import Options

REFUSED = DryRunResult("admission webhook denied the request: TrainingRuntime shunter-no-such-runtime not found", 403)
ESTABLISHED = {"conditions": [{"type": "Established", "status": "True"}], "storedVersions": ["v1"]}
JOBSET_CONTROLLER = {
    "kind": "Deployment",
    "metadata": {"name": "jobset-controller-manager", "namespace": "jobset-system"},
    "spec": {"template": {"spec": {"containers": [{"name": "manager"}]}}},
    "status": {"availableReplicas": 1},
}
JOBSET_WEBHOOK = {"metadata": {"name": "jobset"}, "webhooks": [{"rules": [{"apiGroups": ["jobset.x-k8s.io"]}]}]}


CRDS = tuple(packaged_crds())


def definitions() -> list[Json]:
    return [{**crd, "status": ESTABLISHED} for crd in CRDS]


def facts(*jobs: Json, options: Options = Options(), **changes: Any) -> Facts:  # noqa: B008 -- frozen
    """A cluster that is ready, with these v1 jobs."""
    lists: dict[Resource, Sequence[Json] | None] = {
        CUSTOM_RESOURCE_DEFINITIONS: definitions(),
        DEPLOYMENTS: [JOBSET_CONTROLLER],
        VALIDATING_WEBHOOKS: [JOBSET_WEBHOOK],
        CLUSTER_TRAINING_RUNTIMES: [{"metadata": {"name": "torch-distributed"}}],
    }
    ready = Facts(
        version="1.36",
        git_version="v1.36.3",
        served=frozenset({"v1", TRAIN_JOBS.api_version, JOBSETS.api_version, PYTORCH_JOBS.api_version}),
        batch=converted([SourceObject(job, "cluster") for job in jobs], options),
        namespaces=("team",),
        lists={**lists, **changes.pop("lists", {})},
        train_job_dry_run=REFUSED,
        jobset_dry_run=DryRunResult("", 201),
    )
    served = changes.pop("served", ready.served) | changes.pop("serving", frozenset())
    return replace(ready, served=served, **changes)


def job(name: str = "bert", **metadata: Any) -> Json:
    return pytorch_job(name, "team", suspend=True, **metadata)


def quota(hard: Mapping[str, str], used: Mapping[str, str]) -> Json:
    metadata = {"name": "gpus", "namespace": "team"}
    return {"kind": "ResourceQuota", "metadata": metadata, "spec": {"hard": dict(hard)}, "status": {"used": dict(used)}}


def asking(cpus: int) -> Json:
    return with_resources({"requests": {"cpu": str(cpus)}})


def limited(device: str, count: int) -> Json:
    return with_resources({"limits": {device: str(count)}})


def with_resources(resources: Json) -> Json:
    body = job()
    for spec in body["spec"]["pytorchReplicaSpecs"].values():
        container = dict(spec["template"]["spec"]["containers"][0])
        container["resources"] = resources
        spec["template"] = {"spec": {"containers": [container]}}
    return body


def changed_definition(name: str, **changes: Any) -> list[Json]:
    return [{**crd, **changes} if crd["metadata"]["name"] == name else crd for crd in definitions()]


def operator_with(*arguments: str) -> Json:
    container = {"name": "operator", "args": list(arguments)}
    metadata = {"name": "training-operator", "namespace": "kubeflow"}
    return {"kind": "Deployment", "metadata": metadata, "spec": {"template": {"spec": {"containers": [container]}}}}


def kueue_config(*frameworks: str) -> Json:
    text = "integrations:\n  frameworks:\n" + "".join(f"  - {name}\n" for name in frameworks)
    metadata = {"name": "kueue-manager-config", "namespace": "kueue-system"}
    return {"metadata": metadata, "data": {"controller_manager_config.yaml": text}}


def with_deadline() -> Json:
    body = job()
    body["spec"]["runPolicy"]["activeDeadlineSeconds"] = 60
    return body


def of_trainer_2_1() -> Json:
    properties: Json = {"spec": {"properties": {"trainer": {}, "podTemplateOverrides": {}}}}
    version = {"name": "v1alpha1", "served": True, "schema": {"openAPIV3Schema": {"properties": properties}}}
    return {
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "trainjobs.trainer.kubeflow.org"},
        "spec": {"versions": [version]},
    }


def mpi_definition_of_both() -> list[Json]:
    versions = [{"name": "v1", "served": True, "storage": False}, {"name": "v2beta1", "served": True, "storage": True}]
    return changed_definition("mpijobs.kubeflow.org", spec={"versions": versions})


QUEUED: Json = {"labels": {"kueue.x-k8s.io/queue-name": "gpus"}}
TRAIN_JOB = "trainer.kubeflow.org/trainjob"
KUEUE = frozenset({"kueue.x-k8s.io/v1beta2"})
TRIAL = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "spec": {"pytorchReplicaSpecs": {}}}
EXPERIMENT = {
    "apiVersion": EXPERIMENTS.api_version,
    "kind": "Experiment",
    "metadata": {"name": "tune", "namespace": "team"},
    "spec": {"trialTemplate": {"trialSpec": TRIAL}},
}
NO_PERMISSION = {Request("create", TRAIN_JOBS, "team"): False, Request("get", TRAIN_JOBS, "team"): True}

CASES: dict[str, tuple[str, Facts, str, list[str]]] = {
    "an old server is blocking": (
        "kubernetes_version", facts(version="1.30"), "blocking",
        ["the server is Kubernetes 1.30, older than 1.31: it drops successPolicy of Jobs."]),
    "a server with the beta is advisory": (
        "kubernetes_version", facts(version="1.32"), "advisory",
        ["the server is Kubernetes 1.32: successPolicy of Jobs is beta there (feature gate JobSuccessPolicy)."]),
    "a version that nobody knows is unknown": ("kubernetes_version", facts(version="x"), "unknown", []),
    "a definition that is going is blocking": (
        "v1_definitions",
        facts(lists={CUSTOM_RESOURCE_DEFINITIONS: changed_definition(
            "tfjobs.kubeflow.org", metadata={"name": "tfjobs.kubeflow.org", "deletionTimestamp": "2026-11-21T00:00:00Z"})}),
        "blocking", ["tfjobs.kubeflow.org is being deleted, with all TFJobs."]),
    "objects stored in a version that is gone": (
        "v1_definitions",
        facts(lists={CUSTOM_RESOURCE_DEFINITIONS: changed_definition(
            "tfjobs.kubeflow.org", status={"storedVersions": ["v1beta2", "v1"]})}),
        "advisory", ["tfjobs.kubeflow.org has objects stored as v1beta2, which is not served."]),
    "no v2 at all": (
        "v2_definitions", facts(served=frozenset({"v1"})), "blocking",
        ["the cluster does not serve trainer.kubeflow.org/v1alpha1."]),
    "a definition of v2 that is not established": (
        "v2_definitions",
        facts(lists={CUSTOM_RESOURCE_DEFINITIONS: changed_definition("trainjobs.trainer.kubeflow.org", status={})}),
        "blocking", ["trainjobs.trainer.kubeflow.org is not established: the server gives no reason."]),
    "no JobSet": (
        "jobset", facts(served=frozenset({"v1"})), "blocking", ["the cluster does not serve jobset.x-k8s.io/v1alpha2."]),
    "JobSet's webhooks do not answer": (
        "jobset", facts(jobset_dry_run=DryRunResult("failed calling webhook: refused", 500)), "blocking",
        ["a dry run of a new JobSet fails: failed calling webhook: refused"]),
    "JobSet's controller has no pods": (
        "jobset", facts(lists={DEPLOYMENTS: [{**JOBSET_CONTROLLER, "status": {}}]}), "blocking",
        ["none of its pods is available."]),
    "that a JobSet may not be made by this user says nothing about JobSet": (
        "jobset", facts(jobset_dry_run=DryRunResult("forbidden", 403)), "passed", []),
    "v2's webhooks do not answer": (
        "trainer_webhooks", facts(train_job_dry_run=DryRunResult("failed calling webhook x: refused", 500)), "blocking",
        ["a dry run of a new TrainJob fails: failed calling webhook x: refused"]),
    "nobody asks v2's webhooks": (
        "trainer_webhooks", facts(train_job_dry_run=DryRunResult("", 201)), "blocking",
        ["a dry run of a TrainJob without a runtime is accepted: the webhooks are not called."]),
    "a user who may not make TrainJobs cannot tell": (
        "trainer_webhooks", facts(train_job_dry_run=DryRunResult("trainjobs is forbidden", 403)), "unknown", []),
    "v1's webhooks do not answer": (
        "v1_webhooks", facts(v1_job_dry_run=DryRunResult("failed calling webhook y: refused", 500)), "advisory",
        ["a dry run of a new PyTorchJob fails: failed calling webhook y: refused"]),
    "an installed v2 that is older than results": (
        "v2_release",
        facts(with_deadline(), lists={CUSTOM_RESOURCE_DEFINITIONS: [of_trainer_2_1()]}), "blocking",
        ["its result needs Trainer 2.2 (spec.activeDeadlineSeconds), but 2.1 is installed."]),
    "an installed v2 that knows all of it": ("v2_release", facts(with_deadline()), "passed", []),
    "a permission that is missing": (
        "permissions", facts(allowed=NO_PERMISSION), "blocking",
        ["no permission to create trainjobs.trainer.kubeflow.org in namespace team."]),
    "Kueue does not know TrainJobs, and jobs wait in its queues": (
        "kueue", facts(job(**QUEUED), serving=KUEUE, lists={CONFIG_MAPS: [kueue_config("kubeflow.org/pytorchjob")]}), "blocking",
        ["its integrations.frameworks does not list trainer.kubeflow.org/trainjob."]),
    "Kueue does not know v1 any more": (
        "kueue",
        facts(job(**QUEUED), serving=KUEUE, lists={CONFIG_MAPS: [kueue_config("trainer.kubeflow.org/trainjob")]}),
        "advisory", ["its integrations.frameworks does not list kubeflow.org/pytorchjob, of which there are queued jobs."]),
    "a comment in Kueue's configuration enables nothing": (
        "kueue",
        facts(serving=KUEUE, lists={CONFIG_MAPS: [kueue_config("batch/job # instead of trainer.kubeflow.org/trainjob")]}),
        "advisory", ["its integrations.frameworks does not list trainer.kubeflow.org/trainjob."]),
    "an external framework is none that Kueue itself knows": (
        "kueue",
        facts(serving=KUEUE, lists={CONFIG_MAPS: [kueue_config("batch/job\n  externalFrameworks:\n  - " + TRAIN_JOB)]}),
        "advisory", ["its integrations.frameworks does not list trainer.kubeflow.org/trainjob."]),
    "a framework in quotes": (
        "kueue",
        facts(serving=KUEUE, lists={CONFIG_MAPS: [kueue_config("'trainer.kubeflow.org/trainjob'")]}), "passed", []),
    "Kueue's configuration lists nothing": (
        "kueue",
        facts(serving=KUEUE, lists={CONFIG_MAPS: [kueue_config()]}),
        "advisory", ["its integrations.frameworks does not list trainer.kubeflow.org/trainjob."]),
    "Kueue's configuration is no YAML": (
        "kueue", facts(serving=KUEUE, lists={CONFIG_MAPS: [kueue_config("[")]}), "unknown", []),
    "Kueue's configuration is of another form": (
        "kueue", facts(serving=KUEUE, lists={CONFIG_MAPS: [kueue_config("{}")]}), "unknown", []),
    "Kueue's configuration may not be read": (
        "kueue", facts(job(**QUEUED), serving=KUEUE, lists={CONFIG_MAPS: None}), "unknown", []),
    "queued jobs and no Kueue": (
        "kueue", facts(job(**QUEUED)), "advisory",
        ["1 job has a queue label, but the cluster has no Kueue: PyTorchJob team/bert."]),
    "the v1 operator schedules gangs, and results do not": (
        "gangs",
        facts(job(), lists={DEPLOYMENTS: [operator_with("--gang-scheduler-name=volcano")]}), "blocking",
        ["it schedules v1 jobs as gangs (--gang-scheduler-name=volcano), but results are converted without gangs."]),
    "a flag with one dash": (
        "gangs", facts(job(), lists={DEPLOYMENTS: [operator_with("-gang-scheduler-name", "volcano")]}), "blocking",
        ["it schedules v1 jobs as gangs (--gang-scheduler-name=volcano), but results are converted without gangs."]),
    "another flag that ends alike": (
        "gangs", facts(job(), lists={DEPLOYMENTS: [operator_with("--no-gang-scheduler-name=volcano")]}), "passed", []),
    "a gang scheduler that is not there": (
        "gangs", facts(job(), options=Options(gang="volcano")), "blocking",
        ["--gang is volcano, but the cluster does not serve scheduling.volcano.sh/v1beta1."]),
    "a quota without room for the TrainJob": (
        "quotas", facts(asking(4), lists={RESOURCE_QUOTAS: [quota({"requests.cpu": "10"}, {"requests.cpu": "8"})]}), "advisory",
        ["it leaves 2 of requests.cpu, the TrainJob of PyTorchJob team/bert requests 8."]),
    "a quota of devices that pods only have as a limit": (
        "quotas",
        facts(limited("nvidia.com/gpu", 4), lists={RESOURCE_QUOTAS: [quota({"requests.nvidia.com/gpu": "8"}, {})]}),
        "passed", []),
    "a quota with too few devices": (
        "quotas",
        facts(limited("nvidia.com/gpu", 5), lists={RESOURCE_QUOTAS: [quota({"requests.nvidia.com/gpu": "8"}, {})]}), "advisory",
        ["it leaves 8 of requests.nvidia.com/gpu, the TrainJob of PyTorchJob team/bert requests 10."]),
    "a quota with room": (
        "quotas", facts(asking(1), lists={RESOURCE_QUOTAS: [quota({"cpu": "10"}, {"cpu": "8"})]}), "passed", []),
    "a quota that counts v1 jobs alone": (
        "quotas", facts(job(), lists={RESOURCE_QUOTAS: [quota({"count/pytorchjobs.kubeflow.org": "9"}, {})]}), "advisory",
        ["it limits count/pytorchjobs.kubeflow.org, but not TrainJobs."]),
    "a PodGroup has the name": (
        "names",
        facts(job(), lists={VOLCANO_POD_GROUPS: [{"metadata": {"name": "bert", "namespace": "team"}}]}), "advisory",
        ["its TrainJob bert conflicts with PodGroup bert, which exists."]),
    "a suffix keeps out of the way": (
        "names",
        facts(job(), options=Options(suffix="-v2"), lists={SERVICES: [{"metadata": {"name": "bert", "namespace": "team"}}]}),
        "passed", []),
    "an owner, and a template that makes more": (
        "owners",
        facts(job(ownerReferences=[{"kind": "Trial", "name": "t1", "controller": True}]), lists={EXPERIMENTS: [EXPERIMENT]}),
        "advisory", ["it owns 1 v1 job: PyTorchJob team/bert.", "it creates PyTorchJobs of v1."]),
    "a Helm release with v1 jobs": (
        "helm_releases", facts(releases=[("team/jobs", msgspec.yaml.encode(job()).decode())]), "advisory",
        ["it contains PyTorchJob team/bert."]),
    "Secrets may not be read": ("helm_releases", facts(releases=None), "unknown", []),
    "the mpi-operator's MPIJobs": (
        "mpi_operator",
        facts(lists={CUSTOM_RESOURCE_DEFINITIONS: mpi_definition_of_both(), MPI_JOBS_V2BETA1: [{}, {}]}), "advisory",
        ["it also serves v2beta1, of mpi-operator, with 2 MPIJobs."]),
    "v1 jobs may not be read": ("conversions", facts(lists={PYTORCH_JOBS: None}), "unknown", []),
    "definitions may not be read": ("v2_definitions", facts(lists={CUSTOM_RESOURCE_DEFINITIONS: None}), "unknown", []),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_a_check_says_what_is_wrong(case: tuple[str, Facts, str, list[str]]) -> None:
    name, found, expected, messages = case
    result = assessed(found, chosen([name])).results[0]
    assert [said.message for said in result.faults] == messages
    told = result.impact if result.status == "failed" else result.status
    assert told == expected
    assert all(said.remedy for said in result.faults)
    assert bool(result.why) == (expected == "unknown")


def test_finished_jobs_keep_no_cluster_from_being_ready() -> None:
    ended = {**with_deadline(), "status": {"conditions": [{"type": "Succeeded", "status": "True"}]}}
    ended["metadata"] |= QUEUED
    lists = {
        CLUSTER_TRAINING_RUNTIMES: [],
        CUSTOM_RESOURCE_DEFINITIONS: [*definitions()[:-1], of_trainer_2_1()],
        DEPLOYMENTS: [JOBSET_CONTROLLER, operator_with("--gang-scheduler-name=volcano")],
    }
    for options in (Options(), Options(profile="idiomatic")):
        found = assessed(facts(ended, options=options, lists=lists), chosen(["runtimes", "v2_release", "gangs", "kueue"]))
        assert [result.status for result in found.results] == ["not applicable"] * 4


def test_a_cluster_that_has_everything_is_ready() -> None:
    found = assessed(facts(job()), all_checks())
    assert found.verdict == "READY"
    assert found.next == ()


def test_a_blocking_fault_blocks_and_its_remedy_comes_first() -> None:
    found = assessed(facts(version="1.30", releases=None), all_checks())
    assert found.verdict == "BLOCKED"
    assert found.next[0] == "Upgrade the cluster to Kubernetes 1.33 or newer."
    assert "READY013" in found.next[1]


def test_what_may_not_be_read_makes_it_partial_and_never_ready() -> None:
    assert assessed(facts(releases=None), all_checks()).verdict == "PARTIAL"


def test_checks_are_chosen_by_name_or_id() -> None:
    assert list(chosen(["v?_definitions"])) == ["v1_definitions", "v2_definitions"]
    assert list(chosen(["READY008", "jobset"])) == ["jobset", "kueue"]
    with pytest.raises(InputError, match="--checks nothing: unknown check"):
        chosen(["nothing"])


def test_all_that_a_move_of_running_jobs_looks_at_is_asked_for() -> None:
    asked = permissions.requests(["team"], ["PyTorchJob"])
    looks = {Request("get", PYTORCH_JOBS, "team"), Request("list", PODS, "team"), Request("get", JOBSETS, "team")}
    assert looks <= set(asked)
