"""What all job kinds but MPIJob have in common: numbered pods, a service for each, replaced by their role's restart policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shunter.api.field_errors import FieldError, aggregate, invalid
from shunter.api.meta import Json
from shunter.api.names import LONGEST_LABEL, label_1035_faults
from shunter.api.resources import PODS, SERVICES, Resource
from shunter.api.training.validation import TOO_MANY
from shunter.kube.controllers.plan import Failure, Note, Write
from shunter.operator.training import failures, gang
from shunter.operator.training.children import Children, index, is_own
from shunter.operator.training.framework import AnyFramework, Settings
from shunter.operator.training.job import AnyJob
from shunter.operator.training.names import replica_name
from shunter.operator.training.observed import Observed
from shunter.operator.training.policies import restart, scale_in
from shunter.operator.training.progress import Progress
from shunter.operator.training.replicas import OVERWRITTEN_RESTART_POLICY, desired_pods, replicas, sets_own_restart_policy
from shunter.operator.training.services import services
from shunter.operator.training.status import replica_counts
from shunter.operator.training.writes import creation, deletion


class NumberedReplicas:
    """The part of a framework that its kind shares with most others."""

    shares_environment = True
    reports_all_exits = True
    replaced_under: Sequence[str] = restart.REPLACING

    def with_settings(self: AnyFramework, settings: Settings) -> AnyFramework:
        """The framework itself: its kind has no settings."""
        return self

    def init_containers(self, job: AnyJob, replica_type: str) -> list[Json]:
        """None beside the template's own."""
        return []

    def container_of(self: AnyFramework, job: AnyJob, replica_type: str) -> str:
        """`container`, in every role."""
        return self.container

    def pods(self: AnyFramework, job: AnyJob) -> list[Json]:
        """In rank order, by `replicas.desired_pods`."""
        return desired_pods(self, job)

    def events_if_managed_elsewhere(self, job: AnyJob) -> tuple[Note, ...]:
        """No events."""
        return ()

    def extra_object_names(self, job: AnyJob) -> Mapping[Resource, str]:
        """None, as `info.extra_kinds` is empty."""
        return {}

    def stopped(self, observed: Observed, progress: Progress) -> Progress | None:
        """A job that passed admission with faults fails, unless it has started: the scale subresource calls no webhook."""
        job = observed.job
        if not observed.faults or job.status.start_time is not None:
            return None
        return progress.failed(_what_is_wrong(job, observed.faults), "Warning")

    def sync_replicas(self: AnyFramework, observed: Observed, progress: Progress) -> tuple[list[Write], Progress]:
        """Missing pods and services are made, failed and superfluous ones go, and what is there is counted."""
        job, children = observed.job, observed.children
        if job.status.start_time is None and (faults := _name_faults(self, job)):
            progress = progress.counts(replica_counts(self, job, children))
            return [], progress.failed(_what_is_wrong(job, faults), "Warning")
        if job.status.start_time is not None and (numbers := _number_faults(observed)):
            # What the scale subresource, which asks no webhook, has made of a running job.
            text = f"no pod is created or deleted until this is fixed: {aggregate(numbers)}"
            progress = progress.note("Warning", "TooManyReplicas", text)
            return [], progress.counts(replica_counts(self, job, scale_in.evidence(children)))
        progress = failures.with_exit_events(self, observed, progress)
        pod_writes: list[Write] = []
        service_writes: list[Write] = []
        for replica_type in job.replicas:
            writes, progress = _pods(self, observed, replica_type, progress)
            pod_writes += writes
            service_writes += _services(self, job, children, replica_type)
        return [*pod_writes, *service_writes], progress.counts(replica_counts(self, job, scale_in.evidence(children)))

    def refused(self, job: AnyJob, failure: Failure) -> tuple[Note, ...]:
        """The refused write has its event already."""
        return ()


def _pods(framework: AnyFramework, observed: Observed, replica_type: str, progress: Progress) -> tuple[list[Write], Progress]:
    """The pods of one role: deletions first, then creations; and what failures mean for the status."""
    job, children = observed.job, observed.children
    desired = job.replica_count(replica_type)
    policy = job.replicas[replica_type].restart_policy
    pods = children.pods_of(replica_type)
    superfluous = scale_in.superfluous(pods, desired)
    present = [pod for pod in scale_in.evidence(children).pods_of(replica_type) if index(pod) < desired]
    news = failures.newly_ended(framework, observed, replica_type)
    consequences = [(pod, restart.consequence(pod, policy, framework.container)) for pod in present]
    replaced = [pod for pod, consequence in consequences if consequence == "replace"]
    if any(consequence == "fail" for _, consequence in consequences):
        message = f'job "{job.name}" is failing because "{replica_type}" replica(s) failed.'
        progress = progress.failed(message, "Warning")
    elif replaced:
        message = f"job {job.name} is restarting because {replica_type} replica(s) failed."
        progress = progress.condition("Restarting", message)
        if any(pod in news for pod in replaced):
            progress = progress.event("Warning", "Restarting", message)
    there = {index(pod) for pod in pods}
    missing = [number for number in range(desired) if number not in there]
    if missing and sets_own_restart_policy(job, replica_type):
        progress = progress.note("Warning", "SetPodTemplateRestartPolicy", OVERWRITTEN_RESTART_POLICY)
    bodies = replicas(framework, job, replica_type, missing)
    if group := observed.gang:
        if missing and gang.names_another_scheduler(job, group):
            progress = progress.note("Warning", "SetPodTemplateSchedulerName", gang.ANOTHER_SCHEDULER)
        bodies = (gang.member(body, job, replica_type, group) for body in bodies)
    created = [creation(job, PODS, body) for body in bodies]
    deleted = [deletion(job, PODS, pod) for pod in replaced if pod not in superfluous and not pod.is_leaving]
    return [*scale_in.writes(job, superfluous), *deleted, *created], progress


def _services(framework: AnyFramework, job: AnyJob, children: Children, replica_type: str) -> list[Write]:
    """The services of one role: one for each index, none beyond."""
    desired = job.replica_count(replica_type)
    present = children.services_of(replica_type)
    beyond = [service for service in present if index(service) >= desired]
    superfluous = [service for service in beyond if is_own(service) and not service.metadata.deletion_timestamp]
    there = {index(service) for service in present}
    missing = [number for number in range(desired) if number not in there]
    return [
        *(deletion(job, SERVICES, service) for service in superfluous),
        *(creation(job, SERVICES, body) for body in services(framework, job, replica_type, missing)),
    ]


def _number_faults(observed: Observed) -> list[FieldError]:
    return [fault for fault in observed.faults if fault.body.endswith(TOO_MANY)]


def _name_faults(framework: AnyFramework, job: AnyJob) -> tuple[FieldError, ...]:
    """Why the API server would refuse the names of the job's services. Upstream retries for ever."""
    last = {role: replica_name(job.name, role, job.replica_count(role) - 1) for role in job.replicas if job.replica_count(role)}
    longest = max(last.values(), key=len, default="")
    if len(longest) > LONGEST_LABEL:
        too_long = f"{longest} would be the name of one of its services, which may have {LONGEST_LABEL} characters"
        return (invalid("metadata.name", job.name, too_long),)
    field = framework.info.replica_specs
    return tuple(
        invalid(f"spec.{field}[{role}]", role, f"{name} would be a service of it: {fault}")
        for role, name in last.items()
        for fault in label_1035_faults(name)
    )


def _what_is_wrong(job: AnyJob, faults: tuple[FieldError, ...]) -> str:
    """The faults of a job that passed admission, and what to do."""
    return f"{job.kind} {job.name} is invalid: {aggregate([*faults])}. Correct the field(s) and create the job again."
