"""What holds for the conversion of any v1 job: every leaf is accounted for, what is carried is there, v2 accepts the result."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from migrate.generated_jobs import JOBS, fields, smallest, with_fields
from shunter.api.meta import Json
from shunter.api.trainer import runtime_validation
from shunter.api.trainer.runtime import TrainingRuntime
from shunter.api.trainer.trainjob import TrainJob
from shunter.api.training.job_kind import JobKind
from shunter.api.training.kinds import JOB_KINDS
from shunter.migrate.catalogue import topics
from shunter.migrate.conversion import batch
from shunter.migrate.conversion.one_job import Conversion, convert
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.options import Options
from shunter.migrate.paths import Path, leaves, value_at
from shunter.migrate.pods import admission
from shunter.operator.trainer.render import trainjob_errors
from shunter.operator.trainer.runtimes import shipped

ACCEPTING = Options(elastic_nodes="max", suspend=True)
OPTIONS = st.sampled_from([
    ACCEPTING,
    Options(),
    Options(profile="idiomatic"),
    Options(profile="plain"),
    Options(gang="volcano", elastic_nodes="min"),
    Options(gang="coscheduling:gangs"),
    Options(v1_labels=True, suffix="-v2", cluster_domain="cluster.local"),
    Options(target_version="2.0"),
    Options(torch_launch="torchrun", elastic_nodes="replicas"),
    Options(torch_launch="env-compat", accepted=tuple(topics())),
])  # fmt: skip
SHIPPED = {runtime["metadata"]["name"]: runtime for runtime in shipped()}
KINDS = [pytest.param(kind, id=kind.resource.kind) for kind in JOB_KINDS]


def converted(job: Json, options: Options = ACCEPTING) -> Conversion:
    return convert(SourceObject(job, "generated.yaml"), options)


def lost(job: Json, conversion: Conversion) -> list[str]:
    """Leaves that are not accounted for, that no rule knows, or that are said to be carried and are not."""
    results: dict[str, Json | None] = {"TrainJob": conversion.train_job, "TrainingRuntime": conversion.runtime}
    rows = {row.path: row for row in conversion.rows}
    faults = []
    for path, value in leaves(job):
        row = rows.get(path)
        if row is None:
            faults.append(f"{path}: nothing is said of it")
        elif row.finding is not None and row.finding.topic.id == "FIELD001":
            faults.append(f"{path}: no rule knows it")
        elif row.target is not None and not row.note and value_at(results[row.target.manifest], row.target.path) != value:
            found = value_at(results[row.target.manifest], row.target.path)
            faults.append(f"{path} is {value!r}, and {row.target} is {found!r}")
    return faults


def refused(conversion: Conversion) -> list[str]:
    """What v2 has against a result that is not blocked."""
    if conversion.is_blocked:
        return []
    faults = []
    manifests = [conversion.train_job] + ([conversion.runtime] if conversion.runtime else [])
    for manifest in manifests:
        faults += [f"{field} is unknown" for field in admission.unknown_fields(manifest)]
        stored = admission.admitted(manifest)
        faults += map(str, admission.schema_errors(stored) or admission.cel_errors(stored))
    if conversion.runtime:
        groups = conversion.runtime["spec"]["template"]["spec"]["replicatedJobs"]
        faults += [f"{group['name']} is too long for Trainer 2.4" for group in groups if len(group["name"]) > 20]
        faults += map(str, runtime_validation.errors(msgspec.convert(conversion.runtime, TrainingRuntime)))
    job = msgspec.convert(admission.admitted(conversion.train_job), TrainJob)
    return [*faults, *map(str, trainjob_errors(job, conversion.runtime or SHIPPED[job.spec.runtime_ref.name]))]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_every_field_of_the_schema_is_accounted_for(kind: JobKind) -> None:
    base = smallest(kind)
    for path in fields(kind):
        for role in kind.roles if len(path) > 2 and path[1] == kind.replica_specs else kind.roles[:1]:
            job = with_fields(kind, base, [path], role)
            assert lost(job, converted(job)) == [], path


def generated(examples: int) -> settings:
    ignored = [HealthCheck.too_slow, HealthCheck.data_too_large]
    return settings(max_examples=examples, suppress_health_check=ignored, derandomize=True, database=None)


@pytest.mark.slow
@generated(500)
@given(JOBS, OPTIONS)
def test_fields_together_are_accounted_for_and_carried(job: Json, options: Options) -> None:
    assert lost(job, converted(job, options)) == []


@pytest.mark.slow
@generated(300)
@given(JOBS, OPTIONS)
def test_a_result_that_is_not_blocked_is_one_that_v2_accepts(job: Json, options: Options) -> None:
    if not admission.schema_errors(admission.admitted(job)):
        assert refused(converted(job, options)) == []


@generated(50)
@given(JOBS, OPTIONS)
def test_the_same_source_has_the_same_result(job: Json, options: Options) -> None:
    first, second = converted(job, options), converted(job, options)
    assert (first.train_job, first.runtime, first.rows, first.findings) == (
        second.train_job,
        second.runtime,
        second.rows,
        second.findings,
    )


GARBAGE: list[Any] = [
    None, 5, -1, 1.5, "", "x", "$(RANK)", True, [], {}, [None], [5], ["x"], [{}], {"a": None}, {"a": {"b": [1]}},
]  # fmt: skip


def places(value: Any, path: Path = ()) -> Iterator[Path]:
    yield path
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(inner, (*path, key))


@generated(500)
@given(JOBS, OPTIONS, st.integers(min_value=0), st.sampled_from(GARBAGE))
def test_whatever_is_wrong_with_a_job_is_told_by_its_field(job: Json, options: Options, number: int, garbage: Any) -> None:
    below = [*places(job["spec"])][1:]
    *parent, last = below[number % len(below)]
    value_at(job["spec"], tuple(parent))[last] = garbage
    (outcome,) = batch.converted([SourceObject(job, "generated.yaml")], options).outcomes
    if outcome.conversion is None:
        assert all(finding.path for finding in outcome.findings)
    else:
        assert {row.path for row in outcome.conversion.rows} == {path for path, _ in leaves(job)}


PROBES: Json = {
    "readinessProbe": {"grpc": {"port": 5, "service": "x"}, "terminationGracePeriodSeconds": 1},
    "livenessProbe": {"httpGet": {"port": "http", "path": "/", "host": "h", "httpHeaders": [{"name": "a", "value": "b"}]}},
    "startupProbe": {"tcpSocket": {"port": 6, "host": "h"}},
    "lifecycle": {"preStop": {"exec": {"command": ["sh", "-c", "hostname"]}}, "postStart": {"sleep": {"seconds": 1}}},
    "ports": [{"name": "http", "containerPort": 80, "hostPort": 80}],
    "env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}, {"name": "B", "value": "$(A)"}],
    "envFrom": [{"configMapRef": {"name": "c"}, "prefix": "p"}],
    "volumeMounts": [{"name": "v", "mountPath": "/v", "subPathExpr": "$(A)"}],
}
"""What rules look into that belongs to no single kind of job."""


@pytest.mark.slow
@pytest.mark.parametrize("garbage", GARBAGE, ids=str)
def test_whatever_is_wrong_with_a_probe_a_hook_or_a_variable_is_told_by_its_field(garbage: Any) -> None:
    def made() -> Json:
        job = smallest(JOB_KINDS[0])
        for template in (spec["template"] for spec in job["spec"][JOB_KINDS[0].replica_specs].values()):
            template["spec"]["containers"][0] |= copy.deepcopy(PROBES)
            template["spec"]["volumes"] = [{"name": "v", "configMap": {"name": "c", "items": [{"key": "k", "path": "p"}]}}]
        return job

    for *parent, last in [*places(made()["spec"])][1:]:
        job = made()
        value_at(job["spec"], tuple(parent))[last] = copy.deepcopy(garbage)
        (outcome,) = batch.converted([SourceObject(job, "generated.yaml")], Options()).outcomes
        assert outcome.conversion is not None or all(finding.path for finding in outcome.findings), (*parent, last)


def test_nothing_is_lost_of_what_a_controller_wrote_into_one_role_only() -> None:
    template = {"metadata": {"labels": {}}, "spec": {"containers": [{"name": "pytorch", "image": "x"}]}}
    written = {"kueue.x-k8s.io/podset": "worker", "training.kubeflow.org/replica-type": "worker"}
    roles = {"Master": {}, "Worker": written}
    specs = {role: {"replicas": 1, "template": {**template, "metadata": {"labels": labels}}} for role, labels in roles.items()}
    job = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": "a"},
        "spec": {"pytorchReplicaSpecs": specs},
    }
    conversion = converted(job)
    assert lost(job, conversion) == []
    assert conversion.runtime is not None
    assert [one["name"] for one in conversion.runtime["spec"]["template"]["spec"]["replicatedJobs"]] == ["node"]
