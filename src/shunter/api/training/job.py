"""What all job kinds of kubeflow.org/v1 share: run policy, replicas, status (Training Operator v1.9, `common_types.go`).

The schema says almost nothing (no enums, no limits): values are checked by `validation.py`, or not at all, as upstream.
"""

from datetime import datetime
from typing import Annotated, Protocol

from shunter.api.meta import Json, ObjectMeta, Struct, true_condition
from shunter.api.openapi import INT32, INT64, REQUIRED, PodTemplate, builtin, cel, doc, schema
from shunter.api.rank_failures import RankFailures

MANAGED_BY_US = "kubeflow.org/training-operator"


class SchedulingPolicy(Struct, frozen=True):
    """Without effect unless the operator names a gang scheduler."""

    min_available: Annotated[int | None, INT32, doc("Pods that must be placed together; all pods when absent.")] = None
    queue: Annotated[
        str,
        cel(("self == oldSelf", "spec.runPolicy.schedulingPolicy.queue is immutable")),
        doc("Queue of the gang scheduler."),
    ] = ""
    min_resources: Annotated[
        dict[str, Annotated[str | int | float, builtin("io.k8s.apimachinery.pkg.api.resource.Quantity")]],
        doc("Resources the gang needs together; computed from the pods when absent."),
    ] = {}
    priority_class: Annotated[str, doc("Priority class of the gang.")] = ""
    schedule_timeout_seconds: Annotated[int | None, INT32, doc("How long the gang scheduler waits for all pods.")] = None


class RunPolicy(Struct, frozen=True):
    """The run policy as the object has it: without `clean_pod_policy` no pod is deleted at the end, and limits that are None do
    not hold."""

    clean_pod_policy: Annotated[
        str | None, doc("Pods to delete when the job has finished: All, Running or None. None by default.")
    ] = None
    ttl_seconds_after_finished: Annotated[
        int | None, INT32, doc("Seconds after the end until the job itself is deleted; never when absent.")
    ] = None
    active_deadline_seconds: Annotated[int | None, INT64, doc("Seconds from status.startTime until an unfinished job fails.")] = (
        None
    )
    backoff_limit: Annotated[int | None, INT32, doc("Restarts, counted over all pods, until the job fails.")] = None
    scheduling_policy: Annotated[SchedulingPolicy | None, doc("Gang scheduling of the job's pods.")] = None
    suspend: Annotated[
        bool | None,
        schema(default=False),
        doc("True deletes the job's pods and creates none until it is false again."),
    ] = None
    managed_by: Annotated[
        str | None,
        doc("Who reconciles the job: kubeflow.org/training-operator (default) or kueue.x-k8s.io/multikueue."),
    ] = None

    @property
    def is_ours(self) -> bool:
        """Whether this operator reconciles the job, and not another controller."""
        return self.managed_by in (None, MANAGED_BY_US)


class ReplicaSpec(Struct, frozen=True):
    """One role of the job. `restart_policy` "" and `replicas` None mean the kind's default."""

    replicas: Annotated[int | None, INT32, doc("Number of pods of this role. 1 by default.")] = None
    template: Annotated[PodTemplate, doc("The pods of this role.")] = {}
    restart_policy: Annotated[str, doc("Always, OnFailure, Never or ExitCode.")] = ""


class JobCondition(Struct, frozen=True):
    """Unlike metav1.Condition it has an update time and no observedGeneration."""

    type: Annotated[str, REQUIRED, doc("Created, Running, Restarting, Succeeded, Suspended or Failed.")] = ""
    status: Annotated[str, REQUIRED, doc("True, False or Unknown.")] = ""
    reason: Annotated[str, doc("One word, for programs.")] = ""
    message: Annotated[str, doc("One sentence, for people.")] = ""
    last_update_time: Annotated[datetime | None, doc("When this condition was last written.")] = None
    last_transition_time: Annotated[datetime | None, doc("When its status last changed.")] = None

    @property
    def is_true(self) -> bool:
        """Whether the status is True: neither False nor Unknown."""
        return self.status == "True"


class ReplicaStatus(Struct, frozen=True):
    """Pods of one role by phase: one that is Pending is in no counter."""

    active: Annotated[int, INT32, doc("Running pods.")] = 0
    succeeded: Annotated[int, INT32, doc("Pods that succeeded.")] = 0
    failed: Annotated[int, INT32, doc("Pods that failed.")] = 0
    label_selector: Annotated[
        Json | None,
        builtin("io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector"),
        doc("Deprecated, never set: use selector."),
    ] = None
    selector: Annotated[str, doc("Label selector of the pods, as text, for the scale subresource.")] = ""


class JobStatus(Struct, frozen=True):
    """The order of `conditions` is part of the contract: the last one is the job's State."""

    conditions: Annotated[tuple[JobCondition, ...], doc("What happened to the job; the last one is its state.")] = ()
    replica_statuses: Annotated[dict[str, ReplicaStatus], doc("Pods by role.")] = {}
    start_time: Annotated[datetime | None, doc("When the job's pods were first created, or created again on resume.")] = None
    completion_time: Annotated[datetime | None, doc("When the job finished.")] = None
    last_reconcile_time: Annotated[datetime | None, doc("When pod creation was last held back by gang scheduling.")] = None
    rank_failures: Annotated[RankFailures | None, doc("What failed, kept after the pods are deleted. Shunter's own field.")] = (
        None
    )

    def is_true(self, type: str) -> bool:
        """Whether there is a condition of this type with status True."""
        return true_condition(self.conditions, type) is not None

    @property
    def is_finished(self) -> bool:
        """Whether it has succeeded or failed; a suspended job may still go on."""
        return self.is_true("Succeeded") or self.is_true("Failed")


class JobSpec(Protocol):
    """What the specs of all job kinds have."""

    @property
    def run_policy(self) -> RunPolicy:
        """The job's life cycle and scheduling."""


class JobView(Protocol):
    """What the views of all job kinds have."""

    @property
    def metadata(self) -> ObjectMeta:
        """The metadata as stored on the API server."""

    @property
    def spec(self) -> JobSpec:
        """The spec as written; without defaults if it is to be validated."""

    @property
    def status(self) -> JobStatus:
        """The stored status, not the one that a plan of the operator computes from it."""
