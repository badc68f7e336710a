"""Random jobs of the six kinds of kubeflow.org/v1, and what happens to them: the same ones for the same seed.

Most are jobs that a user could write; about one of eight has a mistake that admission may refuse. Left out is what differs on
purpose anyway (docs/differences.md), so that what is found is new.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

from player.case import Case, Step
from random_jobs.fields import some
from random_jobs.pods import EXIT_CODES, containers, pod_metadata, pod_settings
from shunter.api.meta import Json
from shunter.api.training.job_kind import JobKind
from shunter.api.training.kinds import JOB_KINDS
from shunter.api.training.mpi import LAUNCHER

NAME = "job"
STEPS = (2, 6)
MISTAKES = 0.12
"""Of the jobs, how many have one."""

RETRYABLE = tuple(code for code in EXIT_CODES if code >= 128)
"""With restart policy ExitCode; a job that ends by another code ends otherwise than upstream's, on purpose."""

Mistake = Callable[[random.Random, Json, JobKind], None]


def cases(seed: int, count: int) -> Iterator[Case]:
    """So many cases; each depends on the seed and its number alone."""
    for number in range(count):
        rng = random.Random(f"v1 {seed} {number}")
        yield case(rng, f"v1-{seed}-{number}")


def case(rng: random.Random, name: str) -> Case:
    """One job that is created, and some things that happen to it."""
    kind = rng.choice(JOB_KINDS)
    created = job(rng, kind)
    if rng.random() < MISTAKES:
        rng.choice(MISTAKES_OF_JOBS)(rng, created, kind)
    steps = [Step("apply", [created], {})]
    steps += [change(rng, created, kind) for _ in range(rng.randint(*STEPS))]
    return Case(name, f"a random {kind.resource.kind}", tuple(steps))


def job(rng: random.Random, kind: JobKind) -> Json:
    """A job that a user could write."""
    roles = [role for role in kind.roles if rng.random() < 0.75] or [rng.choice(kind.roles)]
    if {"Chief", "Master"} <= set(roles):  # two names of one role
        roles.remove(rng.choice(["Chief", "Master"]))
    if LAUNCHER in kind.roles and LAUNCHER not in roles:
        roles.insert(0, LAUNCHER)
    spec: Json = {kind.replica_specs: {role: replica_spec(rng, kind, role) for role in roles}}
    policy = run_policy(rng)
    if kind.resource.kind == "JAXJob":
        policy.pop("managedBy", None)  # upstream takes no notice of it
    if policy:
        spec["runPolicy"] = policy
    spec |= own_fields(rng, kind, roles)
    metadata = {"name": NAME, **some(rng, {"labels": {"team": "a"}, "annotations": {"note": "x"}}, 0.15)}
    return {"apiVersion": kind.resource.api_version, "kind": kind.resource.kind, "metadata": metadata, "spec": spec}


def replica_spec(rng: random.Random, kind: JobKind, role: str) -> Json:
    """One role of a job."""
    alone = role in ("Master", "Chief", LAUNCHER)
    spec: Json = {"template": {"spec": {**pod_settings(rng), **containers(rng, kind.container, kind.port and kind.port.name)}}}
    if metadata := pod_metadata(rng):
        spec["template"]["metadata"] = metadata
    if rng.random() < 0.85:
        spec["replicas"] = 1 if alone else rng.choice([1, 1, 2, 2, 3])
    if rng.random() < 0.5:
        spec["restartPolicy"] = rng.choice(["Always", "OnFailure", "Never", "ExitCode"])
    return spec


def run_policy(rng: random.Random) -> Json:
    """Limits, clean-up, suspension and gang scheduling of a job."""
    return some(
        rng,
        {
            "cleanPodPolicy": rng.choice(["All", "Running", "None"]),
            "backoffLimit": rng.choice([0, 1, 2]),
            "activeDeadlineSeconds": 3600,
            "ttlSecondsAfterFinished": rng.choice([0, 2, 3600]),
            "suspend": rng.random() < 0.6,
            "schedulingPolicy": some(
                rng,
                {
                    "minAvailable": rng.choice([1, 2]),
                    "queue": "q",
                    "priorityClass": "system-node-critical",
                    "minResources": {"cpu": "1"},
                    "scheduleTimeoutSeconds": 30,
                },
                0.4,
            ),
            "managedBy": rng.choice(["kubeflow.org/training-operator", "kueue.x-k8s.io/multikueue"]),
        },
        0.22,
    )


def own_fields(rng: random.Random, kind: JobKind, roles: list[str]) -> Json:
    """What only one kind has."""
    match kind.resource.kind:
        case "PyTorchJob":
            elastic = some(
                rng,
                {
                    "minReplicas": rng.choice([1, 2]),
                    "maxReplicas": rng.choice([2, 3]),
                    "rdzvBackend": rng.choice(["c10d", "etcd"]),
                    "rdzvId": "group",
                    "rdzvPort": 29400,
                    "rdzvHost": "host",
                    "rdzvConf": [{"key": "timeout", "value": "30"}],
                    "nProcPerNode": 2,
                    "standalone": rng.random() < 0.5,
                    "maxRestarts": rng.choice([0, 3]),
                    "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization"}}}],
                },
                0.4,
            )
            has_elastic = "Worker" in roles and rng.random() < 0.25
            return some(rng, {"nprocPerNode": rng.choice(["auto", "cpu", "gpu", "2"])}, 0.3) | (
                {"elasticPolicy": elastic} if has_elastic else {}
            )
        case "TFJob":
            return some(rng, {"successPolicy": rng.choice(["", "AllWorkers"]), "enableDynamicWorker": rng.random() < 0.5}, 0.3)
        case "MPIJob":
            return some(
                rng,
                {
                    "slotsPerWorker": rng.choice([1, 2, 4]),
                    "mainContainer": kind.container,
                    "cleanPodPolicy": rng.choice(["All", "Running", "None"]),
                },
                0.3,
            )
        case "PaddleJob" if rng.random() < 0.3:
            return {"elasticPolicy": some(rng, {"minReplicas": 1, "maxReplicas": rng.choice([2, 3]), "maxRestarts": 2}, 0.7)}
        case _:
            return {}


def change(rng: random.Random, created: Json, kind: JobKind) -> Step:
    """One thing that happens to a job: mostly states of its pods."""
    roles = list(created["spec"][kind.replica_specs])
    role = rng.choice(roles).lower() if roles else "worker"
    policies = {spec.get("restartPolicy") for spec in created["spec"][kind.replica_specs].values()}
    some_pods = rng.choice(["*", f"{NAME}-{role}-*", f"{NAME}-{role}-0", f"{NAME}-{role}-1"])
    what = {"kind": kind.resource.kind, "name": NAME}
    match rng.choices(["running", "ended", "patch", "lost", "deleted", "wait"], [4, 6, 3, 2, 0.5, 1])[0]:
        case "running":
            return Step("pods", {"match": rng.choice(["*", some_pods]), "phase": "Running"}, {})
        case "ended":
            ended: Json = {"match": some_pods, "phase": rng.choice(["Succeeded", "Failed", "Failed"])}
            if ended["phase"] == "Failed":
                codes = RETRYABLE if "ExitCode" in policies else EXIT_CODES
                ended |= {"exitCode": rng.choice(codes)} | some(rng, {"reason": rng.choice(["OOMKilled", "Evicted"])}, 0.2)
            return Step("pods", ended, {})
        case "patch":
            return Step("patch", {**what, "merge": patch(rng, kind, roles)}, {})
        case "lost":
            lost = rng.choice(["Pod", "Pod", "Service", "ConfigMap"])
            name = f"{NAME}-config" if lost == "ConfigMap" else f"{NAME}-{role}-{rng.choice('01')}"
            return Step("delete", {"kind": lost, "name": name}, {})
        case "deleted":
            return Step("delete", {**what, "propagation": rng.choice(["Background", "Foreground", "Orphan"])}, {})
        case _:
            return Step("wait", 3, {})


def patch(rng: random.Random, kind: JobKind, roles: list[str]) -> Json:
    """A change of the job by its user."""
    changes: list[Json] = [
        {"spec": {"runPolicy": {"suspend": rng.random() < 0.5}}},
        {"spec": {"runPolicy": {"suspend": True}}},
        {"spec": {"runPolicy": {"cleanPodPolicy": rng.choice(["All", "Running", "None"])}}},
        {"spec": {"runPolicy": {"ttlSecondsAfterFinished": 1}}},
        {"metadata": {"labels": {"team": "b"}}},
    ]
    if roles:
        role = rng.choice(roles)
        changes.append({"spec": {kind.replica_specs: {role: {"replicas": rng.choice([1, 2, 3])}}}})
        changes.append({"spec": {kind.replica_specs: {role: {"restartPolicy": rng.choice(["Never", "OnFailure"])}}}})
    return rng.choice(changes)


def _role(rng: random.Random, created: Json, kind: JobKind) -> Json:
    role: Json = rng.choice(list(created["spec"][kind.replica_specs].values()))
    return role


def _set_name(rng: random.Random, created: Json, kind: JobKind) -> None:
    created["metadata"]["name"] = rng.choice(["Job", "job.x", "1job", "j" * 60, "j" * 64, "job_x"])


def _set_replicas(rng: random.Random, created: Json, kind: JobKind) -> None:
    _role(rng, created, kind)["replicas"] = rng.choice([-1, 2, 0])


def _rename_container(rng: random.Random, created: Json, kind: JobKind) -> None:
    _role(rng, created, kind)["template"]["spec"]["containers"][0]["name"] = rng.choice(["main", "Main", ""])


def _remove_image(rng: random.Random, created: Json, kind: JobKind) -> None:
    container = _role(rng, created, kind)["template"]["spec"]["containers"][0]
    container["image"] = ""


def _remove_containers(rng: random.Random, created: Json, kind: JobKind) -> None:
    _role(rng, created, kind)["template"]["spec"]["containers"] = []


def _add_role(rng: random.Random, created: Json, kind: JobKind) -> None:
    roles = created["spec"][kind.replica_specs]
    roles[rng.choice(["worker", "Helper", "Master"])] = _role(rng, created, kind)


def _set_policy(rng: random.Random, created: Json, kind: JobKind) -> None:
    field = rng.choice(["backoffLimit", "ttlSecondsAfterFinished", "activeDeadlineSeconds"])
    created["spec"].setdefault("runPolicy", {})[field] = -1


def _set_managed_by(rng: random.Random, created: Json, kind: JobKind) -> None:
    created["spec"].setdefault("runPolicy", {})["managedBy"] = "example.org/other"


def _remove_roles(rng: random.Random, created: Json, kind: JobKind) -> None:
    created["spec"][kind.replica_specs] = {}


MISTAKES_OF_JOBS: tuple[Mistake, ...] = (
    _set_name,
    _set_replicas,
    _rename_container,
    _remove_image,
    _remove_containers,
    _add_role,
    _set_policy,
    _set_managed_by,
    _remove_roles,
)
