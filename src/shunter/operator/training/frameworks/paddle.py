"""PaddleJob: Workers that train together, or trainers (Workers) with parameter servers (Masters); paddle.distributed.launch reads
PADDLE_*.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from shunter.api.field_errors import FieldError
from shunter.api.meta import Json
from shunter.api.training import paddle_rules
from shunter.api.training.job import ReplicaStatus
from shunter.api.training.paddle import KIND, MASTER, WORKER, PaddleJob, PaddleJobSpec
from shunter.operator.training.children import Children
from shunter.operator.training.framework import Environment, KindInfo, Verdict, master_or_worker_verdicts
from shunter.operator.training.job import TrainingJob
from shunter.operator.training.names import replica_name
from shunter.operator.training.ports import rendezvous_port
from shunter.operator.training.replica_sync import NumberedReplicas

OWN_ADDRESS: Json = {"name": "POD_IP_DUMMY", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "status.podIP"}}}

Job = TrainingJob[PaddleJobSpec]


class Paddle(NumberedReplicas):
    """PaddleJobs: all meet at Master 0, and in jobs without Masters at Worker 0."""

    info = KindInfo(KIND, metrics_label="paddle", ttl_event="SuccessfulDeletePod")
    container = KIND.container

    def read(self, view: PaddleJob) -> Job:
        """Returns the job with defaults: 1 replica per role, restart policy OnFailure and port 36543. Nothing reads the bounds of
        elasticPolicy."""
        spec = paddle_rules.with_defaults(view.spec)
        return TrainingJob.of(view, spec, self.info.resource, spec.paddle_replica_specs)

    def validate(self, view: PaddleJob, old: PaddleJob | None) -> tuple[list[FieldError], list[str]]:
        """Errors of `paddle_rules`; no warnings."""
        return paddle_rules.errors(view, old), []

    def environment(self, job: Job, replica_type: str) -> Environment:
        """The variables of one role. The pod that all others meet gets its own address, as the launcher compares
        PADDLE_MASTER with the addresses that it finds on its machine."""
        leader = MASTER if MASTER in job.replicas else WORKER
        port = rendezvous_port(job.replicas.get(leader), KIND)
        before = [
            {"name": "PYTHONUNBUFFERED", "value": "1"},
            {"name": "PADDLE_JOB_ID", "value": job.name},
            {"name": "PADDLE_NNODES", "value": str(job.total_replicas)},
        ]
        own = [OWN_ADDRESS, {"name": "PADDLE_MASTER", "value": f"$({OWN_ADDRESS['name']}):{port}"}]
        others = [{"name": "PADDLE_MASTER", "value": f"{replica_name(job.name, leader, 0)}:{port}"}]
        after = []
        if leader == MASTER:
            after = [{"name": "PADDLE_SERVER_NUM" if replica_type == MASTER else "PADDLE_TRAINER_NUM", "value": "1"}]
        return lambda index: [*before, *(own if replica_type == leader and index == 0 else others), *after]

    def is_master_role(self, job: Job, replica_type: str, index: int) -> bool:
        """Masters only: in a job without them no pod has the role."""
        return replica_type == MASTER

    def verdicts(self, job: Job, counts: Mapping[str, ReplicaStatus], children: Children) -> Iterable[Verdict]:
        """The end of all Masters is the job's, and in jobs without them that of all Workers."""
        return master_or_worker_verdicts(job, counts)


FRAMEWORK = Paddle()
