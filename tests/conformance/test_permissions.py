"""The operator needs exactly what its roles grant: run under them nothing is refused, and nothing granted stays unused."""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
from collections.abc import AsyncIterator, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from conformance.installed import (
    NAMESPACE,
    SECRET,
    USER,
    Endpoints,
    Replica,
    admin,
    as_operator,
    install,
    installed_rules,
    is_admitting,
    is_there,
    until,
)
from control_plane import ControlPlane
from player.pod_groups import install_pod_groups
from shunter.api.meta import Json
from shunter.api.resources import (
    CLUSTER_ROLES,
    CLUSTER_TRAINING_RUNTIMES,
    CONFIG_MAPS,
    EVENTS,
    HORIZONTAL_POD_AUTOSCALERS,
    JOBSETS,
    MUTATING_WEBHOOKS,
    NAMESPACES,
    PODS,
    PRIORITY_CLASSES,
    ROLES,
    SECRETS,
    SERVICE_ACCOUNTS,
    SERVICES,
    TRAIN_JOBS,
    TRAINING_RUNTIMES,
    VALIDATING_WEBHOOKS,
    Resource,
)
from shunter.api.scheduling.podgroups import COSCHEDULING_POD_GROUPS, VOLCANO_POD_GROUPS
from shunter.api.training.job_kind import JobKind
from shunter.api.training.kinds import JOB_KINDS
from shunter.api.training.mpi import MPI_JOBS
from shunter.api.training.pytorch import PYTORCH_JOBS
from shunter.kube.client import Client
from shunter.kube.errors import Forbidden
from shunter.kube.webhooks.registration import bundles, trust
from shunter.operator import permissions
from shunter.operator.trainer.reconciler import LEGACY_FINALIZER

pytestmark = [pytest.mark.conformance, pytest.mark.timeout(300)]

TEAM = "team-a"
CONTAINER = {"name": "pytorch", "image": "python"}
LONELY_ROLES = {"MPIJob": "Launcher", "XGBoostJob": "Master"}
"""The roles that can be a whole job; in other kinds it is the Worker."""


class Use(NamedTuple):
    """What a request does, as RBAC sees it. `resource` is with its subresource."""

    group: str
    resource: str
    verb: str
    namespace: str
    name: str


@pytest.fixture(params=["whole cluster", "one namespace"])
def namespaces(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """What the operator is limited to."""
    return () if request.param == "whole cluster" else (TEAM,)


@pytest.fixture
def plane(tmp_path: Path) -> Iterator[ControlPlane]:
    """Without streaming lists, which would make `list` superfluous: not every server has them."""
    parts = ("kube-controller-manager", "jobset")
    with ControlPlane(tmp_path / "plane", parts=parts, audit=True, feature_gates={"WatchList": False}) as plane:
        yield plane


@pytest.fixture
async def client(plane: ControlPlane) -> AsyncIterator[Client]:
    async with admin(plane) as client:
        await client.apply(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": TEAM}})
        await until(lambda: is_there(client, SERVICE_ACCOUNTS, "default", TEAM))
        yield client


async def test_every_request_is_granted_and_every_grant_is_used(
    plane: ControlPlane, client: Client, namespaces: tuple[str, ...], tmp_path: Path
) -> None:
    await install(client, namespaces=namespaces)
    replica = Replica(plane, tmp_path, flags=[f"--namespace={name}" for name in namespaces])
    rules = installed_rules(namespaces)

    async def is_everything_used() -> bool:
        return not unused(rules, uses(plane.audit_log()))

    replica.start()
    async with Endpoints(client) as endpoints:
        endpoints.add(replica)
        try:
            await asyncio.to_thread(replica.wait_ready)
            await until(lambda: is_admitting(client, TEAM))
            for scene in (v1_jobs, train_jobs, gangs_and_keys, runtimes_of_earlier_trainers, certificates):
                await scene(client)
            await until(is_everything_used, lambda: f"never used: {unused(rules, uses(plane.audit_log()))}")
        finally:
            await asyncio.to_thread(replica.stop)
    assert refusals(plane.audit_log()) == []


async def test_grants_that_only_admission_asks_for_are_needed(plane: ControlPlane, client: Client) -> None:
    await install(client)
    owner = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "name": "a", "uid": "u", "blockOwnerDeletion": True}
    pod = {
        "metadata": {"generateName": "a-", "namespace": TEAM, "ownerReferences": [owner]},
        "spec": {"containers": [CONTAINER]},
    }
    role = await client.get(CLUSTER_ROLES, "shunter-operator-controller")
    seen = [rule for rule in role["rules"] if not any(resource.endswith("/finalizers") for resource in rule["resources"])]
    assert len(role["rules"]) - len(seen) == len([g for g in permissions.in_served_namespaces() if g.subresource == "finalizers"])
    async with as_operator(plane) as operator:

        async def is_refused() -> bool:
            try:
                await operator.create(PODS, pod, dry_run=True)
            except Forbidden as error:
                return "blockOwnerDeletion" in error.message
            return False

        assert not await is_refused()
        await client.patch(CLUSTER_ROLES, "shunter-operator-controller", "", {"rules": seen})
        await until(is_refused)


async def v1_jobs(client: Client) -> None:
    """Of every kind one that is suspended and resumed twice, finishes, and is deleted when its time is over."""
    for kind in JOB_KINDS:
        await v1_job(client, kind)
    await failed_job(client)
    await edited_mpi_job(client)
    await elastic_job(client)


async def v1_job(client: Client, kind: JobKind) -> None:
    """A job of the one pod that its kind cannot do without."""
    role, jobs = LONELY_ROLES.get(kind.resource.kind, "Worker"), kind.resource
    pod = "v1-launcher" if role == "Launcher" else f"v1-{role.lower()}-0"
    replica = {"replicas": 1, "template": {"spec": {"containers": [{**CONTAINER, "name": kind.container}]}}}
    spec = {"runPolicy": {"ttlSecondsAfterFinished": 0}, kind.replica_specs: {role: replica}}
    await client.create(jobs, {**head(jobs, "v1"), "spec": spec})
    for _ in range(2):
        await until(lambda: is_there(client, PODS, pod, TEAM))
        await client.patch(jobs, "v1", TEAM, {"spec": {"runPolicy": {"suspend": True}}})
        await until(lambda: is_gone(client, PODS, pod))
        await until(lambda: is_gone(client, SERVICES, pod))
        await client.patch(jobs, "v1", TEAM, {"spec": {"runPolicy": {"suspend": False}}})
    await until(lambda: is_there(client, PODS, pod, TEAM))
    ended = {"name": kind.container, "image": "python", "imageID": "", "ready": False, "restartCount": 0}
    state = {"state": {"terminated": {"exitCode": 0}}}
    await client.patch_status(PODS, pod, TEAM, {"status": {"phase": "Succeeded", "containerStatuses": [{**ended, **state}]}})
    await until(lambda: is_gone(client, jobs, "v1"))
    await until(lambda: is_gone(client, PODS, pod))


async def failed_job(client: Client) -> None:
    """What its pod said is read before that is cleaned up."""
    replica = {"replicas": 1, "restartPolicy": "Never", "template": {"spec": {"containers": [CONTAINER]}}}
    spec = {"runPolicy": {"cleanPodPolicy": "All"}, "pytorchReplicaSpecs": {"Worker": replica}}
    await client.create(PYTORCH_JOBS, {**head(PYTORCH_JOBS, "failed"), "spec": spec})
    await until(lambda: is_there(client, PODS, "failed-worker-0", TEAM))
    ended = {"name": CONTAINER["name"], "image": "python", "imageID": "", "ready": False, "restartCount": 0}
    state = {"state": {"terminated": {"exitCode": 1}}}
    await client.patch_status(
        PODS, "failed-worker-0", TEAM, {"status": {"phase": "Failed", "containerStatuses": [{**ended, **state}]}}
    )
    await until(lambda: is_gone(client, PODS, "failed-worker-0"))
    await client.delete(PYTORCH_JOBS, "failed", TEAM)


async def edited_mpi_job(client: Client) -> None:
    """The host list and the rights of a launcher, which somebody empties, are put right."""
    container = {"name": "mpi", "image": "python"}
    replica = {"template": {"spec": {"containers": [container]}}}
    specs = {"Launcher": replica, "Worker": {**replica, "replicas": 1}}
    await client.create(MPI_JOBS, {**head(MPI_JOBS, "edited"), "spec": {"mpiReplicaSpecs": specs}})
    await until(lambda: is_there(client, PODS, "edited-launcher", TEAM))
    for resource, name, field in ((CONFIG_MAPS, "edited-config", "data"), (ROLES, "edited-launcher", "rules")):
        before = (await client.get(resource, name, TEAM))[field]
        await client.patch(resource, name, TEAM, {field: {"hostfile": ""} if field == "data" else []})

        await until(partial(is_restored, client, resource, name, field, before))
    await client.delete(MPI_JOBS, "edited", TEAM)


async def is_restored(client: Client, resource: Resource, name: str, field: str, before: Any, namespace: str = TEAM) -> bool:
    return bool((await client.get(resource, name, namespace))[field] == before)


async def elastic_job(client: Client) -> None:
    """Its autoscaler is made, follows the job, and goes with it; a worker comes and goes."""
    metric = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}}
    replica = {"replicas": 1, "template": {"spec": {"containers": [CONTAINER]}}}
    elastic = {"minReplicas": 1, "maxReplicas": 2, "metrics": [metric]}
    spec = {"elasticPolicy": elastic, "pytorchReplicaSpecs": {"Worker": replica}}
    await client.create(PYTORCH_JOBS, {**head(PYTORCH_JOBS, "elastic"), "spec": spec})
    await until(lambda: is_there(client, HORIZONTAL_POD_AUTOSCALERS, "elastic", TEAM))
    await client.patch(PYTORCH_JOBS, "elastic", TEAM, {"spec": {"elasticPolicy": {"maxReplicas": 3}}})

    async def has_followed() -> bool:
        return bool((await client.get(HORIZONTAL_POD_AUTOSCALERS, "elastic", TEAM))["spec"]["maxReplicas"] == 3)

    await until(has_followed)
    await client.patch(PYTORCH_JOBS, "elastic", TEAM, {"spec": {"pytorchReplicaSpecs": {"Worker": {"replicas": 2}}}})
    await until(lambda: is_there(client, PODS, "elastic-worker-1", TEAM))
    await client.patch(PYTORCH_JOBS, "elastic", TEAM, {"spec": {"pytorchReplicaSpecs": {"Worker": {"replicas": 1}}}})
    await until(lambda: is_gone(client, PODS, "elastic-worker-1"))
    await client.patch(PYTORCH_JOBS, "elastic", TEAM, {"spec": {"runPolicy": {"suspend": True}}})
    await until(lambda: is_gone(client, HORIZONTAL_POD_AUTOSCALERS, "elastic"))
    await client.delete(PYTORCH_JOBS, "elastic", TEAM)


async def train_jobs(client: Client) -> None:
    """One that runs, has its snapshot broken twice, and misses its deadline; one that is resumed; some without a runtime."""
    for name, more in (("v2", {"activeDeadlineSeconds": 15}), ("v2-suspended", {"suspend": True})):
        spec = {"runtimeRef": {"name": "torch-distributed"}, **more}
        await client.create(TRAIN_JOBS, {**head(TRAIN_JOBS, name), "spec": spec})
    await until(lambda: is_there(client, JOBSETS, "v2-suspended", TEAM))
    await client.patch(TRAIN_JOBS, "v2-suspended", TEAM, {"spec": {"suspend": False}})
    await until(lambda: is_there(client, JOBSETS, "v2", TEAM))
    for text in ("of: nothing", "of: nothing at all"):
        await client.patch(CONFIG_MAPS, "v2-runtime-snapshot", TEAM, {"data": {"runtime": text}})
        await until(lambda: is_told(client, "wrong runtime"))
    for kind in (TRAINING_RUNTIMES, CLUSTER_TRAINING_RUNTIMES):
        reference = {"name": "nobody", "kind": kind.kind}
        with pytest.raises(Forbidden, match="not found"):
            await client.create(TRAIN_JOBS, {**head(TRAIN_JOBS, "v2-none"), "spec": {"runtimeRef": reference}})
    await until(lambda: is_gone(client, JOBSETS, "v2"))


async def gangs_and_keys(client: Client) -> None:
    """Jobs that bring a PodGroup or a Secret along; a PodGroup is put right that was edited while its job is suspended."""
    await install_pod_groups(client)
    await client.create(PRIORITY_CLASSES, {**head(PRIORITY_CLASSES, "high"), "value": 1000})
    for name, groups in (("volcano", VOLCANO_POD_GROUPS), ("coscheduling", COSCHEDULING_POD_GROUPS)):
        template = {"spec": {"containers": [{"name": "node", "image": "python"}], "priorityClassName": "high"}}
        labels = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
        job = {"name": "node", "template": {"metadata": {"labels": labels}, "spec": {"template": template}}}
        spec = {
            "mlPolicy": {"mpi": {}},
            "podGroupPolicy": {name: {}},
            "template": {"spec": {"replicatedJobs": [job]}},
        }
        await client.create(TRAINING_RUNTIMES, {**head(TRAINING_RUNTIMES, name), "spec": spec})
        reference = {"name": name, "kind": TRAINING_RUNTIMES.kind}
        await client.create(TRAIN_JOBS, {**head(TRAIN_JOBS, name), "spec": {"runtimeRef": reference, "suspend": True}})
        await until(partial(is_there, client, SECRETS, f"{name}-mpi-ssh-auth", TEAM))
        await until(partial(is_there, client, groups, name, TEAM))
        await client.patch(groups, name, TEAM, {"spec": {"minMember": 99}})
        await until(partial(is_put_right, client, groups, name))


async def is_put_right(client: Client, groups: Resource, name: str) -> bool:
    members: int = (await client.get(groups, name, TEAM))["spec"]["minMember"]
    return members == 1


async def runtimes_of_earlier_trainers(client: Client) -> None:
    """Their finalizer is taken off."""
    for resource in (TRAINING_RUNTIMES, CLUSTER_TRAINING_RUNTIMES):
        body = head(resource, "earlier")
        body["metadata"] |= {
            "finalizers": [LEGACY_FINALIZER],
            "labels": {"trainer.kubeflow.org/webhook-validation": "disabled"},
        }
        await client.create(resource, {**body, "spec": {"template": {"spec": {}}}})
        await until(partial(has_no_finalizers, client, resource, "earlier"))


async def certificates(client: Client) -> None:
    """What others destroyed is repaired: the certificate, and the trust in it."""
    before = await client.get(SECRETS, SECRET, NAMESPACE)
    await client.patch(SECRETS, SECRET, NAMESPACE, {"data": {"tls.key": base64.b64encode(b"gone").decode()}})
    await until(lambda: is_restored(client, SECRETS, SECRET, "data", before["data"], NAMESPACE))
    for resource in (MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS):
        for configuration in (await client.list(resource)).items:
            if "jobset" not in configuration["metadata"]["name"]:
                await trust(client, resource, configuration, b"")

    async def is_trusted() -> bool:
        found = [one for resource in (MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS) for one in (await client.list(resource)).items]
        return all(all(bundles(one)) for one in found)

    await until(is_trusted)


def uses(audit_log: Path) -> set[Use]:
    """What the operator has done. A server-side apply that created was asked for `create` as well."""
    found = set()
    for event in events(audit_log):
        reference = event.get("objectRef")
        if reference is None:
            continue
        resource = "/".join(part for part in (reference["resource"], reference.get("subresource")) if part)
        verbs = [event["verb"]]
        if event["verb"] == "patch" and event["responseStatus"]["code"] == 201:
            verbs.append("create")
        place = (reference.get("namespace", ""), reference.get("name", ""))
        found |= {Use(reference.get("apiGroup", ""), resource, verb, *place) for verb in verbs}
    return found


def refusals(audit_log: Path) -> list[str]:
    """Requests of the operator that it may not make, or that were refused as forbidden for another reason."""
    return [
        f"{event['verb']} {event['requestURI']}: {event['responseStatus'].get('message', '')}"
        for event in events(audit_log)
        if event["responseStatus"]["code"] == 403 or event["annotations"]["authorization.k8s.io/decision"] != "allow"
    ]


def unused(rules: list[tuple[str, Json]], used: set[Use]) -> list[str]:
    """What is granted, name by name, and was never made use of."""
    granted = (grant.rule for grant in permissions.in_served_namespaces() if not grant.is_seen)
    hidden = {asked for one in granted for asked in itertools.product(one["apiGroups"], one["resources"], one["verbs"])}
    missing = []
    for where, rule in rules:
        assert "*" not in {*rule["apiGroups"], *rule["resources"], *rule["verbs"]}
        for group, resource, verb in itertools.product(rule["apiGroups"], rule["resources"], rule["verbs"]):
            for name in rule.get("resourceNames", [""]):
                is_used = any(
                    (use.group, use.resource, use.verb) == (group, resource, verb)
                    and (not where or use.namespace == where)
                    and (not name or use.name == name)
                    for use in used
                )
                if not is_used and (group, resource, verb) not in hidden:
                    missing.append(f"{verb} {resource}.{group} {name} {where}".strip())
    return missing


def events(audit_log: Path) -> Iterator[Json]:
    """The operator's finished requests, and watches that began."""
    for line in audit_log.read_text().splitlines():
        if f'"{USER}"' in line:
            event = json.loads(line)
            if event["user"]["username"] == USER and event["stage"] in ("ResponseComplete", "ResponseStarted"):
                yield event


def head(resource: Resource, name: str) -> Json:
    metadata: Json = {"name": name, **({"namespace": TEAM} if resource.namespaced else {})}
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata}


async def is_gone(client: Client, resource: Resource, name: str) -> bool:
    return not await is_there(client, resource, name, TEAM)


async def is_told(client: Client, text: str) -> bool:
    """Whether an event says so."""
    return any(text in event["note"] for event in (await client.list(EVENTS, TEAM)).items)


async def has_no_finalizers(client: Client, resource: Resource, name: str) -> bool:
    found = await client.get(resource, name, TEAM if resource.namespaced else "")
    return not found["metadata"].get("finalizers")
