"""JAXJob: Workers that call `jax.distributed.initialize(f"{COORDINATOR_ADDRESS}:{COORDINATOR_PORT}", NUM_PROCESSES, PROCESS_ID)`.

JAX itself does not read these names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from shunter.api.field_errors import FieldError
from shunter.api.training import jax_rules
from shunter.api.training.jax import KIND, WORKER, JAXJob, JAXJobSpec
from shunter.api.training.job import ReplicaStatus
from shunter.operator.training.children import Children
from shunter.operator.training.framework import Environment, KindInfo, Verdict, master_or_worker_verdicts
from shunter.operator.training.job import TrainingJob
from shunter.operator.training.names import replica_name
from shunter.operator.training.ports import rendezvous_port
from shunter.operator.training.replica_sync import NumberedReplicas

Job = TrainingJob[JAXJobSpec]


class JAX(NumberedReplicas):
    """JAXJobs, which have Workers only: Worker 0 is the coordinator."""

    info = KindInfo(KIND, metrics_label="jax", ttl_event="SuccessfulDeletePod")
    container = KIND.container

    def read(self, view: JAXJob) -> Job:
        """Returns the job with defaults: 1 replica, restart policy Never and port 6666."""
        spec = jax_rules.with_defaults(view.spec)
        return TrainingJob.of(view, spec, self.info.resource, spec.jax_replica_specs)

    def validate(self, view: JAXJob, old: JAXJob | None) -> tuple[list[FieldError], list[str]]:
        """The run policy is judged too, which upstream leaves out for this kind. No warnings."""
        return jax_rules.errors(view, old), []

    def environment(self, job: Job, replica_type: str) -> Environment:
        """The variables of the Workers; the address is a host without port."""
        shared = [
            {"name": "PYTHONUNBUFFERED", "value": "1"},
            {"name": "COORDINATOR_PORT", "value": str(rendezvous_port(job.replicas.get(WORKER), KIND))},
            {"name": "COORDINATOR_ADDRESS", "value": replica_name(job.name, WORKER, 0)},
            {"name": "NUM_PROCESSES", "value": str(job.total_replicas)},
        ]
        return lambda index: [*shared, {"name": "PROCESS_ID", "value": str(index)}]

    def is_master_role(self, job: Job, replica_type: str, index: int) -> bool:
        """The first Worker, as there is no Master."""
        return index == 0

    def verdicts(self, job: Job, counts: Mapping[str, ReplicaStatus], children: Children) -> Iterable[Verdict]:
        """The job has succeeded when all Workers have."""
        return master_or_worker_verdicts(job, counts)


FRAMEWORK = JAX()
