"""ToyJob: a seventh kind, as its author would put it into `shunter/api/training/toy.py`."""

from typing import Annotated

from shunter.api.meta import ObjectMeta, Struct
from shunter.api.openapi import INT32, REQUIRED, doc
from shunter.api.training.job import JobStatus, ReplicaSpec, RunPolicy
from shunter.api.training.job_kind import JobKind, Port, resource


class ToyJobSpec(Struct, frozen=True):
    run_policy: Annotated[RunPolicy, doc("Life cycle and scheduling of the job.")] = RunPolicy()
    toy_replica_specs: Annotated[dict[str, ReplicaSpec], REQUIRED, doc("Pods by role: Workers.")] = {}
    wheels: Annotated[int | None, INT32, doc("Wheels of each toy.")] = None


class ToyJob(Struct, frozen=True):
    """Play with others."""

    metadata: ObjectMeta = ObjectMeta()
    spec: Annotated[ToyJobSpec, doc("What to run.")] = ToyJobSpec()
    status: Annotated[JobStatus, doc("What runs.")] = JobStatus()


KIND = JobKind(
    resource=resource("ToyJob"),
    view=ToyJob,
    replica_specs="toyReplicaSpecs",
    roles=("Worker",),
    container="toy",
    port=Port("toyjob-port", 7777),
    restart_policy="OnFailure",
    is_scalable=True,
)
