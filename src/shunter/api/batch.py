"""Views of batch/v1 Jobs and CronJobs: what the embedded cluster's controllers decide on.

The status is typed both ways: `JobStatus` decodes what is stored and encodes (`as_json`) what should be stored, with Go's
omissions: zero counters disappear, pointers (`ready`, `terminating`, `failedIndexes`) stay when they are 0 or empty.
"""

from datetime import datetime

from shunter.api.meta import Condition, Json, ObjectMeta, Struct, true_condition
from shunter.api.selectors import LabelSelector

MOST_PODS = 100_000
"""The maximum number of pods of one Indexed Job (Kubernetes 1.36, pkg/apis/batch/validation), and of anything else here."""
JOB_TRACKING_FINALIZER = "batch.kubernetes.io/job-tracking"
COMPLETION_INDEX = "batch.kubernetes.io/job-completion-index"
JOB_NAME_LABELS = ("job-name", "batch.kubernetes.io/job-name")
JOB_UID_LABELS = ("controller-uid", "batch.kubernetes.io/controller-uid")
JOB_LABELS = (*JOB_NAME_LABELS, *JOB_UID_LABELS)
"""Labels that each Job has its pods carry, with its name and its uid: a template that says other values is refused."""
INDEX_FAILURE_COUNT = "batch.kubernetes.io/job-index-failure-count"
INDEX_IGNORED_FAILURE_COUNT = "batch.kubernetes.io/job-index-ignored-failure-count"
JOB_CONTROLLER = "kubernetes.io/job-controller"
"""The value of spec.managedBy that means the built-in controller."""


class OnExitCodes(Struct, frozen=True):
    """Matches a container (of this name, if one is given; init containers too) that ended with one of the codes, or with `NotIn`
    with none of them. The exit code 0 never matches."""

    operator: str
    values: tuple[int, ...] = ()
    container_name: str | None = None


class OnPodCondition(Struct, frozen=True):
    """Matches a failed pod that has the condition with this status, e.g. `DisruptionTarget`."""

    type: str
    status: str = "True"


class PodFailurePolicyRule(Struct, frozen=True):
    """`action` is FailJob, FailIndex, Ignore or Count. The server demands one of the two patterns, and refuses both together."""

    action: str
    on_exit_codes: OnExitCodes | None = None
    on_pod_conditions: tuple[OnPodCondition, ...] = ()


class PodFailurePolicy(Struct, frozen=True):
    """The first rule that matches a failed pod decides; where none does, the failure counts towards the limits of the Job."""

    rules: tuple[PodFailurePolicyRule, ...] = ()


class SuccessPolicyRule(Struct, frozen=True):
    """Met by all of the indexes, written `0,2-4`, or by `succeeded_count` of them where that is given; without indexes, by so
    many of any."""

    succeeded_indexes: str | None = None
    succeeded_count: int | None = None


class SuccessPolicy(Struct, frozen=True):
    """The successPolicy of an Indexed Job: the first rule that is met ends the Job as a success, whatever its other indexes
    do."""

    rules: tuple[SuccessPolicyRule, ...] = ()


class JobSpec(Struct, frozen=True):
    """Without `completions` one pod that succeeds is enough, and no more are made after it. Deadline and time to live are in
    seconds; `selector`, and the labels that it wants, are filled in by the server."""

    template: Json = {}
    parallelism: int = 1
    completions: int | None = None
    completion_mode: str = "NonIndexed"
    backoff_limit: int = 6
    backoff_limit_per_index: int | None = None
    max_failed_indexes: int | None = None
    active_deadline_seconds: int | None = None
    ttl_seconds_after_finished: int | None = None
    suspend: bool = False
    selector: LabelSelector = LabelSelector()
    pod_failure_policy: PodFailurePolicy | None = None
    success_policy: SuccessPolicy | None = None
    pod_replacement_policy: str | None = None
    managed_by: str | None = None


class JobCondition(Condition, frozen=True):
    """A Job's condition: unlike metav1.Condition it has a probe time, and its observedGeneration is never set."""

    last_probe_time: datetime | None = None


class UncountedTerminatedPods(Struct, frozen=True):
    """Uids of pods that have finished and still hold the tracking finalizer: seen, not yet in the counters."""

    succeeded: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()


class JobStatus(Struct, frozen=True):
    """Counts pods; of an Indexed Job `succeeded` counts indexes. `completed_indexes` and `failed_indexes` are texts like `0,2-4`,
    the latter None unless the Job has a backoffLimitPerIndex."""

    conditions: tuple[JobCondition, ...] = ()
    start_time: datetime | None = None
    completion_time: datetime | None = None
    active: int = 0
    succeeded: int = 0
    failed: int = 0
    terminating: int | None = None
    completed_indexes: str = ""
    failed_indexes: str | None = None
    uncounted_terminated_pods: UncountedTerminatedPods | None = None
    ready: int | None = None

    def condition(self, type: str) -> JobCondition | None:
        """The condition of this type if it is True."""
        return true_condition(self.conditions, type)


class Job(Struct, frozen=True):
    """Makes pods until enough of them have succeeded, or too many have failed."""

    metadata: ObjectMeta
    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()

    @property
    def is_indexed(self) -> bool:
        """Whether each pod has a completion index, and every index must succeed once, unless a success policy asks for less."""
        return self.spec.completion_mode == "Indexed"

    @property
    def outcome(self) -> JobCondition | None:
        """The terminal condition: Complete or Failed, or None while the Job may still do something."""
        return self.status.condition("Complete") or self.status.condition("Failed")

    @property
    def is_managed_elsewhere(self) -> bool:
        """Whether `spec.managedBy` names another controller, so that the built-in one must write nothing."""
        return self.spec.managed_by is not None and self.spec.managed_by != JOB_CONTROLLER


class CronJobSpec(Struct, frozen=True):
    """`schedule` is read in `time_zone`, UTC without one; a prefix `TZ=ZONE` of its own wins. `concurrency_policy` says what
    happens when a Job is due and another still runs: Allow, Forbid (it is left out) or Replace."""

    schedule: str = ""
    time_zone: str | None = None
    starting_deadline_seconds: int | None = None
    concurrency_policy: str = "Allow"
    suspend: bool = False
    job_template: Json = {}
    successful_jobs_history_limit: int = 3
    failed_jobs_history_limit: int = 1


class CronJobStatus(Struct, frozen=True):
    """`last_schedule_time` is the time that the schedule named, not when its Job was made."""

    active: tuple[Json, ...] = ()
    """References to the Jobs that have not ended."""
    last_schedule_time: datetime | None = None
    last_successful_time: datetime | None = None


class CronJob(Struct, frozen=True):
    """Makes a Job at each time that its schedule names, and deletes old ones beyond the limits of its history."""

    metadata: ObjectMeta
    spec: CronJobSpec = CronJobSpec()
    status: CronJobStatus = CronJobStatus()
