"""TFJob: every pod reads in TF_CONFIG who the others are and who it is itself.

A Chief (or Master) decides about the end of the job; without one Worker 0, or all Workers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from shunter.api.field_errors import FieldError
from shunter.api.meta import Json, condition_of
from shunter.api.training import tensorflow_rules
from shunter.api.training.job import ReplicaStatus
from shunter.api.training.tensorflow import ALL_WORKERS, CHIEF, KIND, MASTER, PS, WORKER, TFJob, TFJobSpec
from shunter.operator.training.children import Children, index
from shunter.operator.training.framework import Environment, KindInfo, Settings, Verdict
from shunter.operator.training.job import TrainingJob
from shunter.operator.training.names import replica_name
from shunter.operator.training.policies.restart import exit_code
from shunter.operator.training.ports import rendezvous_port
from shunter.operator.training.replica_sync import NumberedReplicas

Job = TrainingJob[TFJobSpec]


class TensorFlow(NumberedReplicas):
    """TFJobs: only the container `tensorflow` gets TF_CONFIG; addresses in it end in the cluster's domain where one is set."""

    info = KindInfo(KIND, metrics_label="tensorflow", ttl_event="SuccessfulDeleteJob")
    container = KIND.container
    shares_environment = False

    def __init__(self, cluster_domain: str = "") -> None:
        self._cluster_domain = cluster_domain

    def with_settings(self, settings: Settings) -> TensorFlow:
        """With the cluster's domain that addresses end in, `.svc.cluster.local`; without one they end in `.svc`."""
        return TensorFlow(settings.cluster_domain)

    def read(self, view: TFJob) -> Job:
        """Returns the job with defaults: 1 replica per role, restart policy Never and port 2222. Roles that TensorFlow does not
        know come last."""
        spec = tensorflow_rules.with_defaults(view.spec)
        return TrainingJob.of(view, spec, self.info.resource, spec.tf_replica_specs)

    def validate(self, view: TFJob, old: TFJob | None) -> tuple[list[FieldError], list[str]]:
        """Errors of `tensorflow_rules`; roles that TensorFlow does not know are accepted with a warning."""
        return tensorflow_rules.errors(view, old), tensorflow_rules.warnings(view)

    def environment(self, job: Job, replica_type: str) -> Environment:
        """TF_CONFIG, unless the pod trains alone: then TensorFlow must not wait for others."""
        if sum(job.replica_count(role) for role in KIND.roles) == 1:
            return lambda index: []
        role = replica_type.lower()
        if job.spec.enable_dynamic_worker:
            return self._dynamic_environment(job, replica_type)
        addresses = {name.lower(): self._addresses(job, name) for name in job.replicas}
        cluster = _compact({name: addresses[name] for name in sorted(addresses)})
        return lambda index: _tf_config(
            f'{{"cluster":{cluster},"task":{{"type":"{role}","index":{index}}},"environment":"cloud"}}'
        )

    def _dynamic_environment(self, job: Job, replica_type: str) -> Environment:
        """With workers that come and go a worker knows itself and all parameter servers, a parameter server only itself,
        and others none."""
        own, servers = self._addresses(job, replica_type), self._addresses(job, PS)

        def of(index: int) -> list[Json]:
            cluster: Json = {"worker": {}, "ps": []}
            if replica_type == WORKER:
                cluster = {"worker": {str(index): own[index]}, "ps": servers}
            elif replica_type == PS:
                cluster["ps"] = [own[index]]
            return _tf_config(_compact({"cluster": cluster, "task": {"type": replica_type.lower(), "index": index}}))

        return of

    def _addresses(self, job: Job, replica_type: str) -> list[str]:
        domain = f".{self._cluster_domain}" if self._cluster_domain else ""
        suffix = f".{job.namespace}.svc{domain}:{rendezvous_port(job.replicas.get(replica_type), KIND)}"
        return [f"{replica_name(job.name, replica_type, index)}{suffix}" for index in range(job.replica_count(replica_type))]

    def is_master_role(self, job: Job, replica_type: str, index: int) -> bool:
        """Every Chief and Master, or the first Worker of a job without them."""
        if _has_chief(job):
            return replica_type in (CHIEF, MASTER)
        return replica_type == WORKER and index == 0

    def verdicts(self, job: Job, counts: Mapping[str, ReplicaStatus], children: Children) -> Iterator[Verdict]:
        """The roles by name; those that are not TensorFlow's say nothing."""
        for replica_type in sorted(role for role in job.replicas if role in KIND.roles):
            count = counts[replica_type]
            yield from _progress(job, replica_type, count, children)
            if count.failed:
                yield from _failure(job, replica_type, count)


def _progress(job: Job, replica_type: str, count: ReplicaStatus, children: Children) -> Iterator[Verdict]:
    running = Verdict("Running", f"TFJob {job.namespace}/{job.name} is running.")
    succeeded = Verdict("Succeeded", f"TFJob {job.namespace}/{job.name} successfully completed.")
    is_over = count.succeeded >= job.replica_count(replica_type)
    if _has_chief(job):
        if replica_type in (CHIEF, MASTER):
            if count.active:
                yield running
            if is_over:
                yield succeeded
    elif replica_type == WORKER:
        if is_over or (job.spec.success_policy != ALL_WORKERS and _is_first_worker_done(children)):
            yield succeeded
        elif count.active:
            yield running


def _failure(job: Job, replica_type: str, count: ReplicaStatus) -> Iterable[Verdict]:
    """A failed pod fails the job, unless it is being restarted, or is a worker that may go. A restart stays the job's state
    also where Running has just taken its place."""
    restarting = condition_of(job.status.conditions, "Restarting")
    if restarting is not None:
        return [Verdict("Restarting", restarting.message, is_news=False)]
    if job.spec.enable_dynamic_worker and replica_type == WORKER:
        return []
    failed = f"{count.failed} {replica_type} replica(s) failed."
    return [Verdict("Failed", f"TFJob {job.namespace}/{job.name} has failed because {failed}")]


def _is_first_worker_done(children: Children) -> bool:
    """Worker 0 has ended, and its training container said 0: a pod may end before its containers' codes are known."""
    first = (pod for pod in children.pods_of(WORKER) if index(pod) == 0)
    return any(pod.status.phase == "Succeeded" and exit_code(pod, KIND.container) == 0 for pod in first)


def _has_chief(job: Job) -> bool:
    return CHIEF in job.replicas or MASTER in job.replicas


def _tf_config(value: str) -> list[Json]:
    return [{"name": "TF_CONFIG", "value": value}]


def _compact(value: Json) -> str:
    return msgspec.json.encode(value).decode()


FRAMEWORK = TensorFlow()
