"""XGBoostJob: Workers meet the Master at MASTER_ADDR; the program makes its tracker (rabit) or machine list (LightGBM) of that.

Neither library reads these names itself: upstream sets no DMLC_*.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from shunter.api.field_errors import FieldError
from shunter.api.training import xgboost_rules
from shunter.api.training.job import ReplicaStatus
from shunter.api.training.xgboost import KIND, MASTER, WORKER, XGBoostJob, XGBoostJobSpec
from shunter.operator.training.children import Children
from shunter.operator.training.framework import Environment, KindInfo, Verdict, failure_verdict
from shunter.operator.training.job import TrainingJob
from shunter.operator.training.names import replica_name
from shunter.operator.training.ports import rendezvous_port
from shunter.operator.training.replica_sync import NumberedReplicas

Job = TrainingJob[XGBoostJobSpec]


class XGBoost(NumberedReplicas):
    """XGBoostJobs: the Master has rank 0, and the Workers follow it."""

    info = KindInfo(KIND, metrics_label="xgboost", ttl_event="SuccessfulDeleteJob")
    container = KIND.container

    def read(self, view: XGBoostJob) -> Job:
        """Returns the job with defaults: 1 replica per role, restart policy Never and port 9999."""
        spec = xgboost_rules.with_defaults(view.spec)
        return TrainingJob.of(view, spec, self.info.resource, spec.xgb_replica_specs)

    def validate(self, view: XGBoostJob, old: XGBoostJob | None) -> tuple[list[FieldError], list[str]]:
        """Errors of `xgboost_rules`: there must be a Master with an explicit number of replicas, 1. No warnings."""
        return xgboost_rules.errors(view, old), []

    def environment(self, job: Job, replica_type: str) -> Environment:
        """The variables of one role; where there are Workers, all of them are named as well."""
        first_rank = 0 if replica_type == MASTER else job.replica_count(MASTER)
        total = job.total_replicas
        before = [
            {"name": "MASTER_PORT", "value": str(rendezvous_port(job.replicas.get(MASTER), KIND))},
            {"name": "MASTER_ADDR", "value": replica_name(job.name, MASTER, 0)},
            {"name": "WORLD_SIZE", "value": str(total)},
        ]
        after = [{"name": "PYTHONUNBUFFERED", "value": "1"}]
        if total > 1:
            workers = ",".join(replica_name(job.name, WORKER, index) for index in range(total - 1))
            after += [
                {"name": "WORKER_PORT", "value": str(rendezvous_port(job.replicas.get(WORKER), KIND))},
                {"name": "WORKER_ADDRS", "value": workers},
            ]
        return lambda index: [*before, {"name": "RANK", "value": str(first_rank + index)}, *after]

    def is_master_role(self, job: Job, replica_type: str, index: int) -> bool:
        """The Master."""
        return replica_type == MASTER

    def verdicts(self, job: Job, counts: Mapping[str, ReplicaStatus], children: Children) -> Iterator[Verdict]:
        """The Master's end is the job's. A pod that has failed fails the job even where its role would restart it: only
        ExitCode restarts. Both ends begin with Running."""
        running = Verdict("Running", f"XGBoostJob {job.name} is running.")
        for replica_type, spec in job.replicas.items():
            count = counts[replica_type]
            if replica_type == MASTER:
                if count.active:
                    yield running
                if count.succeeded >= job.replica_count(MASTER):
                    yield running
                    yield Verdict("Succeeded", f"XGBoostJob {job.name} is successfully completed.")
                    return
            if count.failed:
                yield running
                yield failure_verdict(job, replica_type, count.failed, restarts=spec.restart_policy == "ExitCode")


FRAMEWORK = XGBoost()
