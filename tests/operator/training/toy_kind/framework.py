"""What the operator does for ToyJobs, as their author would put it into `shunter/operator/training/frameworks/toy.py`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec.structs import replace
from shunter.api.training.toy import KIND  # type: ignore[import-not-found]

from shunter.api.field_errors import FieldError, required
from shunter.api.training.defaults import replica_specs_with_defaults, run_policy_with_defaults
from shunter.api.training.job import ReplicaStatus
from shunter.operator.training.children import Children
from shunter.operator.training.framework import Environment, KindInfo, Verdict, master_or_worker_verdicts
from shunter.operator.training.job import TrainingJob
from shunter.operator.training.replica_sync import NumberedReplicas


class Toy(NumberedReplicas):
    info = KindInfo(KIND, metrics_label="toy", ttl_event="SuccessfulDeleteJob")
    container = KIND.container

    def read(self, view: Any) -> TrainingJob[Any]:
        spec = replace(
            view.spec,
            run_policy=run_policy_with_defaults(view.spec.run_policy),
            toy_replica_specs=replica_specs_with_defaults(view.spec.toy_replica_specs, KIND),
        )
        return TrainingJob.of(view, spec, self.info.resource, spec.toy_replica_specs)

    def validate(self, view: Any, old: Any) -> tuple[list[FieldError], list[str]]:
        return ([] if view.spec.wheels else [required("spec.wheels", "a toy rolls")]), []

    def environment(self, job: TrainingJob[Any], replica_type: str) -> Environment:
        return lambda index: [{"name": "TOY", "value": f"{index} of {job.total_replicas} with {job.spec.wheels} wheels"}]

    def is_master_role(self, job: TrainingJob[Any], replica_type: str, index: int) -> bool:
        return index == 0

    def verdicts(self, job: TrainingJob[Any], counts: Mapping[str, ReplicaStatus], children: Children) -> Iterable[Verdict]:
        return master_or_worker_verdicts(job, counts)


FRAMEWORK = Toy()
