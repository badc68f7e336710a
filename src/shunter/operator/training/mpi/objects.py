"""The objects beside its pods that an MPIJob gets: mpirun reads a host list and starts its daemons by a script that runs
`kubectl exec`, so the launcher has a ServiceAccount that may do that in the job's workers.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from shunter.api.core import Pod
from shunter.api.meta import Json, ObjectMeta, Struct
from shunter.api.resources import CONFIG_MAPS, ROLE_BINDINGS, ROLES, SERVICE_ACCOUNTS, Resource
from shunter.api.training.mpi import MPI_JOBS, WORKER
from shunter.kube.merge_patch import difference
from shunter.operator.training.mpi.names import (
    Job,
    config_map_name,
    is_gpu_launcher,
    launcher_name,
    service_account_name,
    slots,
    worker_name,
)

APP = "app"
"""The label that tells the objects of a job; its value is the job's name."""

KUBEXEC = "kubexec.sh"
HOSTFILE = "hostfile"
DISCOVER_HOSTS = "discover_hosts.sh"
KUBECTL = "/opt/kube/kubectl"


class HostList(Struct, frozen=True):
    """A ConfigMap. Contents are kept of those that an MPIJob manages only: others have the same label, and may be large."""

    metadata: ObjectMeta
    data: dict[str, str] = {}

    def __post_init__(self) -> None:
        owner = self.metadata.controller
        if owner is None or owner.kind != MPI_JOBS.kind:
            msgspec.structs.force_setattr(self, "data", {})


class Role(Struct, frozen=True):
    """A Role, of which `patch_to` compares the rules."""

    metadata: ObjectMeta
    rules: tuple[Json, ...] | None = None


def config_map(job: Job, workers: Iterable[Pod]) -> Json:
    """The host list, and the two scripts. `workers` are those there are: only those that run are hosts for elastic jobs."""
    return {
        **_head(job, CONFIG_MAPS, config_map_name(job)),
        "data": {
            KUBEXEC: kubexec(job.spec.main_container),
            HOSTFILE: hostfile(job),
            DISCOVER_HOSTS: discover_hosts(job, workers),
        },
    }


def service_account(job: Job) -> Json:
    """The launcher's ServiceAccount, under the name that the template gives or else the launcher's."""
    return _head(job, SERVICE_ACCOUNTS, service_account_name(job))


def role(job: Job) -> Json:
    """What the launcher may do. Without workers there is no name to limit exec to (as upstream)."""
    workers = [worker_name(job, index) for index in range(job.replica_count(WORKER))]
    execution: Json = {"verbs": ["create"], "apiGroups": [""], "resources": ["pods/exec"]}
    if workers:
        execution["resourceNames"] = workers
    return {
        **_head(job, ROLES, launcher_name(job)),
        "rules": [{"verbs": ["get", "list", "watch"], "apiGroups": [""], "resources": ["pods"]}, execution],
    }


def role_binding(job: Job) -> Json:
    """Binds the launcher's ServiceAccount, be it the template's, to the job's Role."""
    return {
        **_head(job, ROLE_BINDINGS, launcher_name(job)),
        "subjects": [{"kind": "ServiceAccount", "name": service_account_name(job), "namespace": job.namespace}],
        "roleRef": {"apiGroup": ROLES.group, "kind": ROLES.kind, "name": launcher_name(job)},
    }


def patch_to(present: object, desired: Json) -> Json:
    """What corrects an object that was edited, or that was made for other workers; empty when it is as desired. Only the
    contents of ConfigMap and Role are looked at (as upstream)."""
    if isinstance(present, Role):
        return {} if list(present.rules or ()) == desired["rules"] else {"rules": desired["rules"]}
    if isinstance(present, HostList) and (data := difference(present.data, desired["data"])):
        labels = difference(present.metadata.labels, desired["metadata"]["labels"])
        return {"data": data, **({"metadata": {"labels": labels}} if labels else {})}
    return {}


def kubexec(main_container: str) -> str:
    """The script that mpirun starts in place of ssh: HOST COMMAND..., where the host is a pod."""
    container = f" --container {main_container}" if main_container else ""
    return f'#!/bin/sh\nset -x\nPOD_NAME=$1\nshift\n{KUBECTL} exec ${{POD_NAME}}{container} -- /bin/sh -c "$*"'


def hostfile(job: Job) -> str:
    """Every host with its slots, running or not."""
    hosts = [launcher_name(job)] if is_gpu_launcher(job) else []
    hosts += [worker_name(job, index) for index in range(job.replica_count(WORKER))]
    return "".join(f"{host} slots={slots(job)}\n" for host in hosts)


def discover_hosts(job: Job, workers: Iterable[Pod]) -> str:
    """A script that says which hosts there are just now: what elastic Horovod asks again and again. Lines as upstream's."""
    running = sorted(pod.metadata.name for pod in workers if pod.status.phase == "Running")
    script = "#!/bin/sh"
    if is_gpu_launcher(job):
        script += f"\necho {launcher_name(job)}:{slots(job)}\n"
    return script + "".join(f"\necho {name}:{slots(job)}" for name in running)


def _head(job: Job, resource: Resource, name: str) -> Json:
    labels, owners = {APP: job.name}, [job.owner_reference]
    return resource.typed({"metadata": {"name": name, "namespace": job.namespace, "labels": labels, "ownerReferences": owners}})
