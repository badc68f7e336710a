"""What a running MPIJob wants written: until its launcher has ended, everything that is missing is made, in the order in
which things are needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from shunter.api.core import Pod
from shunter.api.meta import Json
from shunter.api.resources import CONFIG_MAPS, PODS, ROLE_BINDINGS, ROLES, SERVICE_ACCOUNTS, Resource
from shunter.api.training.mpi import LAUNCHER, WORKER
from shunter.kube.controllers.plan import Create, Failure, Note, Patch, Ref, Write
from shunter.operator.training import gang
from shunter.operator.training.children import Children, index
from shunter.operator.training.gang import Gang
from shunter.operator.training.mpi import objects, pods
from shunter.operator.training.mpi.names import (
    Job,
    config_map_name,
    launcher_name,
    service_account_name,
)
from shunter.operator.training.observed import Observed
from shunter.operator.training.policies import restart, scale_in
from shunter.operator.training.progress import Progress
from shunter.operator.training.replicas import OVERWRITTEN_RESTART_POLICY, sets_own_restart_policy

_EXISTENCE_EVENTS = {
    SERVICE_ACCOUNTS: ("ServiceAccount is exist", "ServiceAccount"),
    ROLES: ("LauncherRole is exist", "LauncherRole"),
    ROLE_BINDINGS: ("RoleBinding is exist", "RoleBinding"),
}
"""Reason of the event that says an object is there, and what it calls it."""


class MPIPods:
    """The pods of one MPIJob."""

    def __init__(self, job: Job, children: Children) -> None:
        workers = children.pods_of(WORKER)
        desired = job.replica_count(WORKER)
        self.launcher = next((pod for pod in children.pods if pod.metadata.name == launcher_name(job)), None)
        self.workers = [pod for pod in workers if index(pod) < desired]
        self.superfluous = scale_in.superfluous(workers, desired)

    @property
    def is_done(self) -> bool:
        """Whether the launcher has ended, and with it everything that workers are needed for."""
        return self.launcher is not None and self.launcher.is_finished


def extra_object_names(job: Job) -> Mapping[Resource, str]:
    """The names of the objects that the job keeps beside its pods."""
    return {
        SERVICE_ACCOUNTS: service_account_name(job),
        CONFIG_MAPS: config_map_name(job),
        ROLES: launcher_name(job),
        ROLE_BINDINGS: launcher_name(job),
    }


def writes(observed: Observed, members: MPIPods, image: str, progress: Progress) -> tuple[list[Write], Progress]:
    """Objects, then workers, then the launcher; `image` brings the launcher's kubectl."""
    job: Job = observed.job
    account = observed.kept.get(SERVICE_ACCOUNTS)
    if account is not None and not account.metadata.is_controlled_by(job.metadata.uid) and job.status.start_time is None:
        # Told of the others when they are made.
        progress = progress.notes((_exists(job, SERVICE_ACCOUNTS, account.metadata.name),))
    there = {index(pod) for pod in members.workers}
    missing = [number for number in range(job.replica_count(WORKER)) if number not in there]
    workers = [_creation(job, pods.worker(job, number), WORKER, observed.gang) for number in missing]
    launcher: list[Write] = []
    if members.launcher is None and not missing:
        # In a look of its own, since pods of one plan are made at the same time: none is launched whose workers are refused.
        launcher = [_creation(job, pods.launcher(job, image), LAUNCHER, observed.gang)]
        progress = _warned(job, observed.gang, progress)
    superfluous = scale_in.writes(job, members.superfluous)
    return [*_objects(job, members, observed.kept), *superfluous, *workers, *launcher], progress


def replaced(job: Job, members: MPIPods) -> tuple[list[Pod], str]:
    """Failed pods that the policy ExitCode replaces, and the role that fails the job for good; empty when none does.

    Upstream replaces none, so that such a job says Restarting for ever. Under all other policies a failed pod stays."""
    again: list[Pod] = []
    for role, pods_of_role in ((LAUNCHER, [members.launcher] if members.launcher else []), (WORKER, members.workers)):
        if job.replicas[role].restart_policy != "ExitCode" or (role == WORKER and members.is_done):
            continue
        container = first_container(job, role)
        consequences = [(pod, restart.consequence(pod, "ExitCode", container)) for pod in pods_of_role]
        if any(consequence == "fail" for _, consequence in consequences):
            return [], role
        again += [pod for pod, consequence in consequences if consequence == "replace"]
    return again, ""


def refused(job: Job, failure: Failure) -> tuple[Note, ...]:
    """The events for an object that the API server refused to create."""
    write = failure.write
    if not isinstance(write, Create):
        return ()
    name = write.body["metadata"]["name"]
    existing = (_exists(job, write.resource, name),) if write.resource in (ROLES, ROLE_BINDINGS) else ()
    if failure.reason == "AlreadyExists":
        if write.resource == SERVICE_ACCOUNTS:
            # Anybody's will do; it is about to appear in the cache.
            return ()
        text = f'Resource "{name}" of MPIJobKind "{write.resource.kind}" already exists and is not managed by MPIJob'
        return (*existing, job.note("Warning", "ErrResourceExists", text))
    if write.resource != PODS:
        text = f"{write.resource.kind} {name} could not be created: {failure.message}"
        return (*existing, job.note("Warning", f"{job.kind}Failed", text))
    member = "launcher" if name == launcher_name(job) else "worker"
    return (job.note("Warning", f"{job.kind}Failed", f"{member} pod created failed: {failure.message}"),)


def _objects(job: Job, members: MPIPods, present: Mapping[Resource, Any]) -> Iterator[Write]:
    """Each is made when it is missing or another's (the API server then says so); contents that were edited are restored."""
    desired = {
        SERVICE_ACCOUNTS: objects.service_account(job),
        CONFIG_MAPS: objects.config_map(job, members.workers),
        ROLES: objects.role(job),
        ROLE_BINDINGS: objects.role_binding(job),
    }
    for resource, body in desired.items():
        there = present.get(resource)
        if there is None or (resource != SERVICE_ACCOUNTS and not there.metadata.is_controlled_by(job.metadata.uid)):
            event = _exists(job, resource, body["metadata"]["name"]) if resource in _EXISTENCE_EVENTS else None
            yield Create(resource=resource, body=body, succeeded=event)
        elif patch := objects.patch_to(there, body):
            yield Patch(ref=Ref.of(resource, there.metadata), patch=patch)


def _creation(job: Job, body: Json, role: str, group: Gang | None) -> Create:
    reason, text = (
        ("SuccessfulCreatePod", "Created worker pod: {name}")
        if role == WORKER
        else (f"{job.kind}Running", "launcher pod created success: {name}")
    )
    return Create(
        resource=PODS,
        body=gang.member(body, job, role, group) if group else body,
        succeeded=job.note("Normal", reason, text),
    )


def _warned(job: Job, group: Gang | None, progress: Progress) -> Progress:
    """Told when the launcher is made, under reasons of MPIJob's own."""
    if sets_own_restart_policy(job, LAUNCHER):
        progress = progress.note("Warning", "SettedPodTemplateRestartPolicy", OVERWRITTEN_RESTART_POLICY)
    if group and gang.names_another_scheduler(job, group):
        progress = progress.note("Warning", "SettedPodTemplateSchedulerName", gang.ANOTHER_SCHEDULER)
    return progress


def _exists(job: Job, resource: Resource, name: str) -> Note:
    reason, what = _EXISTENCE_EVENTS[resource]
    return job.note("Normal", reason, f"{what}: {name}")


def first_container(job: Job, role: str) -> str:
    """The name of the container whose exit code decides."""
    containers = (job.replicas[role].template.get("spec") or {}).get("containers") or [{}]
    return str(containers[0].get("name", ""))
