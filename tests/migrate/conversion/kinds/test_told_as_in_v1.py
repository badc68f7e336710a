"""Every pod of a converted job is told what v1 told the pod that it stands for, with names of v2 for hosts."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shunter.api.training.kinds import JOB_KINDS
from shunter.migrate.conversion.one_job import convert, drafted
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.options import Options
from shunter.migrate.pods.effective import effective_container
from shunter.migrate.pods.hosts import Hosts
from shunter.migrate.pods.sides import Replica, v1_pods, v2_pods

NAMESPACE = "team"
KINDS = {kind.resource.kind: kind for kind in JOB_KINDS}
ROLES = {
    "TFJob": ("Chief", "PS", "Worker", "Evaluator"),
    "XGBoostJob": ("Worker",),
    "JAXJob": ("Worker",),
    "PaddleJob": ("Master", "Worker"),
}


def job(kind: str, replicas: dict[str, int], *, name: str = "run", differing: bool = False, **spec: Any) -> dict[str, Any]:
    """A job whose roles say the same, but for their arguments where they are to differ."""

    def role(name: str, count: int) -> dict[str, Any]:
        container = {"name": KINDS[kind].container, "image": "example.org/train:1", "command": ["python", "train.py"]}
        return {
            "replicas": count,
            "restartPolicy": "OnFailure",
            "template": {"spec": {"containers": [{**container, **({"args": [name]} if differing else {})}]}},
        }

    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {KINDS[kind].replica_specs: {name: role(name, count) for name, count in replicas.items()}, **spec},
    }


def told(source: dict[str, Any], options: Options = Options()) -> list[tuple[dict[str, str], dict[str, str]]]:  # noqa: B008
    """What v1 tells each of its pods, and what the pod of v2 that stands for it is told under these names; a pod's name, on
    either side, is a number."""
    found = SourceObject(source, "job.yaml")
    draft, conversion = drafted(found, options), convert(found, options)
    assert not conversion.is_blocked, conversion.findings
    v1 = v1_pods(source, options)
    v2 = {replica.host: replica for replica in v2_pods(conversion.train_job, conversion.runtime)}
    hosts = {name: draft.host(*place) for name, place in draft.hosts.items()}
    old = Hosts({name: f"<{number}>" for number, name in enumerate(hosts)}, NAMESPACE)
    new = Hosts({host: f"<{number}>" for number, host in enumerate(hosts.values())}, NAMESPACE)
    assert set(hosts.values()) == set(v2), "each pod of v2 stands for one of v1"
    assert set(hosts) == {replica.pod["metadata"]["name"] for replica in v1}
    return [
        (old.marked(_operators(draft, replica)), new.marked(_seen(v2[hosts[replica.pod["metadata"]["name"]]]))) for replica in v1
    ]


def _operators(draft: Any, replica: Replica) -> dict[str, str]:
    names = {variable["name"] for variable in draft.framework.environment(draft.job, replica.role)(replica.index)}
    return {name: value for name, value in _seen(replica).items() if name in names}


def _seen(replica: Replica) -> dict[str, str]:
    (container,) = (one for one in replica.pod["spec"]["containers"] if one["name"] == replica.container)
    return effective_container(replica.pod, container).environment


def assert_told_alike(source: dict[str, Any], options: Options = Options()) -> None:  # noqa: B008
    for v1, v2 in told(source, options):
        assert {name: v2.get(name) for name in v1} == v1


@pytest.mark.parametrize("kind", ROLES)
@given(data=st.data())
@settings(max_examples=25)
def test_pods_of_v2_are_told_what_v1_told_them(kind: str, data: st.DataObject) -> None:
    counts = {role: data.draw(st.integers(0, 3), role) for role in ROLES[kind]}
    if kind == "XGBoostJob":
        counts = {"Master": 1, **counts}
    if not any(counts.values()):
        counts["Worker"] = 1
    replicas = {role: count for role, count in counts.items() if count or data.draw(st.booleans(), "named")}
    assert_told_alike(job(kind, replicas, differing=data.draw(st.booleans(), "differing")))


@given(data=st.data())
@settings(max_examples=25)
def test_workers_that_come_and_go_are_told_of_themselves_and_of_the_parameter_servers(data: st.DataObject) -> None:
    replicas = {role: data.draw(st.integers(1, 3), role) for role in ("PS", "Worker")}
    source = job("TFJob", replicas, enableDynamicWorker=True)
    assert_told_alike(source, Options(accepted=("TF002",)))


def test_names_stay_full_where_the_operator_was_told_of_a_domain() -> None:
    source, options = job("TFJob", {"Worker": 2}), Options(cluster_domain="cluster.local")
    assert_told_alike(source, options)
    conversion = convert(SourceObject(source, "job.yaml"), options)
    first, _ = v2_pods(conversion.train_job, conversion.runtime)
    assert '"run-node-0-1.run.team.svc.cluster.local:2222"' in _seen(first)["TF_CONFIG"]


def test_a_runtime_holds_for_any_name() -> None:
    """Prefixes of kustomize and generated names change nothing in it."""
    for kind in ROLES:
        replicas = {"Master": 1, "Worker": 2} if kind == "XGBoostJob" else {"Worker": 3}
        sources = [SourceObject(job(kind, replicas, name=name), "job.yaml") for name in ("first", "second")]
        first, second = (convert(source, Options()).runtime for source in sources)
        assert first == second


def test_the_first_trains_alone_without_tf_config() -> None:
    ((v1, v2),) = told(job("TFJob", {"Worker": 1}))
    assert v1 == {}
    assert "TF_CONFIG" not in v2
