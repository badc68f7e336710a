"""JobSet (jobset.x-k8s.io/v1alpha2, JobSet 0.12): groups of Jobs with shared network, success and failure.

Job templates are opaque. The schema is structurally equal to the one of JobSet's release, so that users may install either.
"""

from collections.abc import Iterable
from typing import Annotated

import msgspec

from shunter.api.meta import Condition, Json, ObjectMeta, Struct
from shunter.api.openapi import INT32, REQUIRED, ConditionItem, builtin, cel, doc, list_atomic, list_map, schema

CONTROLLER = "jobset.sigs.k8s.io/jobset-controller"
LONGEST_POD_NAME = 63
ENDS = {"Completed": "Complete", "Failed": "Failed"}
"""The conditions that end a JobSet, with their names in a TrainJob."""
RANDOM_SUFFIX = 6
"""Characters that the Job controller adds to a pod's name."""
JOBSET_NAME, REPLICATED_JOB = "jobset.sigs.k8s.io/jobset-name", "jobset.sigs.k8s.io/replicatedjob-name"
"""Labels of Jobs and pods: the JobSet, and the name of the replicated job in it."""

_VALUE_IS_IMMUTABLE = cel(("self == oldSelf", "Value is immutable"))


class DependsOn(Struct, frozen=True):
    """`Complete`: all Jobs of the other one have succeeded. `Ready`: each is ready, has succeeded or has failed."""

    name: Annotated[str, REQUIRED, doc("A replicated job listed before this one.")] = ""
    status: Annotated[str, REQUIRED, schema(enum=["Ready", "Complete"]), doc("What it must have reached first.")] = ""


class ReplicatedJob(Struct, frozen=True):
    """Makes so many Jobs of one template, called `JOBSET-NAME-0`, `JOBSET-NAME-1` and so on."""

    name: Annotated[str, REQUIRED, doc("Name of these Jobs within the JobSet; part of the Jobs' own names.")] = ""
    group_name: Annotated[str, schema(default="default"), doc("Replicated jobs of one group are numbered together.")] = "default"
    template: Annotated[
        Json, REQUIRED, builtin("io.k8s.api.batch.v1.JobTemplateSpec"), doc("What each Job is created from.")
    ] = {}
    replicas: Annotated[int, INT32, schema(default=1), doc("How many Jobs to create from the template.")] = 1
    depends_on: Annotated[
        tuple[DependsOn, ...],
        list_map("name", maxItems=5),
        _VALUE_IS_IMMUTABLE,
        doc("Replicated jobs that must be ready or complete before this one is created."),
    ] = ()


class Network(Struct, frozen=True):
    """None means yes for both flags, as JobSet's admission fills them in."""

    enable_dns_hostnames: Annotated[bool | None, doc("Give pods stable host names through a headless service.")] = msgspec.field(
        name="enableDNSHostnames", default=None
    )
    subdomain: Annotated[str, doc("Name of the headless service; the JobSet's name by default.")] = ""
    publish_not_ready_addresses: Annotated[bool | None, doc("Whether host names resolve before pods are ready.")] = None


class SuccessPolicy(Struct, frozen=True):
    """A JobSet without one succeeds when all its Jobs have."""

    operator: Annotated[str, REQUIRED, schema(enum=["All", "Any"]), doc("How many of the targeted Jobs must succeed.")] = "All"
    target_replicated_jobs: Annotated[tuple[str, ...], list_atomic(), doc("Replicated jobs that count; all by default.")] = ()


class FailurePolicyRule(Struct, frozen=True):
    """The first rule that matches a failed Job decides."""

    name: Annotated[str, REQUIRED, doc("Name of the rule, unique in the policy.")] = ""
    action: Annotated[
        str,
        REQUIRED,
        schema(
            enum=[
                "FailJobSet",
                "RestartJobSet",
                "RestartJobSetAndIgnoreMaxRestarts",
                "RestartJob",
                "RestartJobAndIgnoreMaxRestarts",
            ]
        ),
        doc("What to do when the rule matches."),
    ] = ""
    on_job_failure_reasons: Annotated[tuple[str, ...], doc("Reasons of the Job's failure that match; any when empty.")] = ()
    on_job_failure_message_patterns: Annotated[
        tuple[str, ...], doc("Regular expressions on the message of the Job's failure; any when empty.")
    ] = ()
    target_replicated_jobs: Annotated[tuple[str, ...], list_atomic(), doc("Replicated jobs it applies to; all by default.")] = ()


class FailurePolicy(Struct, frozen=True):
    """A JobSet without one fails with its first Job; with one it is restarted up to `max_restarts` times, unless a rule says
    otherwise."""

    max_restarts: Annotated[int, INT32, doc("Restarts of the JobSet before a further failure fails it.")] = 0
    restart_strategy: Annotated[
        str,
        schema(enum=["Recreate", "BlockingRecreate", "InPlaceRestart"], default="Recreate"),
        doc("Whether new Jobs wait until all old ones are deleted, or pods restart in place."),
    ] = "Recreate"
    rules: Annotated[tuple[FailurePolicyRule, ...], doc("Exceptions to maxRestarts, in order.")] = ()


class StartupPolicy(Struct, frozen=True):
    """With `InOrder` a replicated job is started once every Job of the one before it is ready or has ended."""

    startup_policy_order: Annotated[
        str, REQUIRED, schema(enum=["AnyOrder", "InOrder"]), doc("InOrder starts a replicated job when the one before is ready.")
    ] = "AnyOrder"


class Coordinator(Struct, frozen=True):
    """The pod whose host name is in an annotation of all pods."""

    replicated_job: Annotated[str, REQUIRED, doc("Its replicated job.")] = ""
    job_index: Annotated[int, doc("Index of its Job.")] = 0
    pod_index: Annotated[int, doc("Completion index of the pod in that Job.")] = 0


class RetentionPolicy(Struct, frozen=True):
    """Claims of a policy without one are kept: `Delete` is the default only where one is given."""

    when_deleted: Annotated[
        str, schema(enum=["Delete", "Retain"], default="Delete"), doc("What happens to the claims when the JobSet is deleted.")
    ] = "Delete"


class VolumeClaimPolicy(Struct, frozen=True):
    """Each template makes one claim for the whole JobSet, which all pods that mount it share."""

    templates: Annotated[
        tuple[Annotated[Json, builtin("io.k8s.api.core.v1.PersistentVolumeClaim")], ...],
        list_atomic(maxItems=50),
        doc("Claims created for the JobSet; a pod volume of a template's name uses its claim."),
    ] = ()
    retention_policy: Annotated[RetentionPolicy | None, doc("How long the claims live.")] = None


class JobSetSpec(Struct, frozen=True):
    """`replicated_jobs` is in the order that `InOrder` starts them in, and each may depend only on those before it."""

    replicated_jobs: Annotated[tuple[ReplicatedJob, ...], list_map("name"), doc("The groups of Jobs.")] = ()
    network: Annotated[Network | None, _VALUE_IS_IMMUTABLE, doc("Host names of the pods.")] = None
    success_policy: Annotated[SuccessPolicy | None, _VALUE_IS_IMMUTABLE, doc("When the JobSet has succeeded.")] = None
    failure_policy: Annotated[FailurePolicy | None, _VALUE_IS_IMMUTABLE, doc("What happens when a Job fails.")] = None
    startup_policy: Annotated[StartupPolicy | None, _VALUE_IS_IMMUTABLE, doc("In which order Jobs start.")] = None
    suspend: Annotated[bool | None, doc("True suspends all Jobs, which deletes their pods.")] = None
    coordinator: Annotated[Coordinator | None, doc("The pod whose host name is announced to all pods.")] = None
    managed_by: Annotated[str | None, doc("Who reconciles the JobSet; the JobSet controller by default.")] = None
    ttl_seconds_after_finished: Annotated[
        int | None, INT32, schema(minimum=0), doc("Seconds after the end until the JobSet is deleted; never when absent.")
    ] = None
    volume_claim_policies: Annotated[
        tuple[
            Annotated[
                VolumeClaimPolicy,
                cel(
                    (
                        "self.templates.all(t, !has(t.metadata.namespace) || size(t.metadata.namespace) == 0)",
                        "namespace cannot be set for VolumeClaimPolicies templates",
                    )
                ),
            ],
            ...,
        ],
        list_atomic(maxItems=50),
        _VALUE_IS_IMMUTABLE,
        doc("Claims that the JobSet creates for its pods."),
    ] = ()


_ORDER_OR_DEPENDENCIES = (
    "!(has(self.startupPolicy) && self.startupPolicy.startupPolicyOrder == 'InOrder'"
    " && self.replicatedJobs.exists(x, has(x.dependsOn)))"
)
JOB_SET_SPEC_RULES = cel((_ORDER_OR_DEPENDENCIES, "StartupPolicy and DependsOn APIs are mutually exclusive"))
"""Holds wherever a JobSetSpec stands: in a JobSet and in the template of a training runtime."""


class ReplicatedJobStatus(Struct, frozen=True):
    """Counts are of Jobs, not of pods."""

    name: Annotated[str, REQUIRED, doc("The replicated job.")] = ""
    ready: Annotated[int, REQUIRED, INT32, doc("Jobs whose pods are all ready or succeeded.")] = 0
    succeeded: Annotated[int, REQUIRED, INT32, doc("Jobs that completed.")] = 0
    failed: Annotated[int, REQUIRED, INT32, doc("Jobs that failed.")] = 0
    active: Annotated[int, REQUIRED, INT32, doc("Jobs with a pod that has not finished.")] = 0
    suspended: Annotated[int, REQUIRED, INT32, doc("Suspended Jobs.")] = 0
    job_restarts: Annotated[
        tuple[Annotated[int, INT32], ...], list_atomic(maxItems=1024), doc("Restarts of single Jobs, by job index.")
    ] = ()
    job_restarts_count_towards_max: Annotated[
        tuple[Annotated[int, INT32], ...], list_atomic(maxItems=1024), doc("Those restarts that count against maxRestarts.")
    ] = ()


class JobSetStatus(Struct, frozen=True):
    """`restarts` counts all restarts, `restarts_count_towards_max` only those that `maxRestarts` limits; `terminal_state` is
    empty until the JobSet has ended."""

    conditions: Annotated[tuple[ConditionItem, ...], list_map("type"), doc("Completed, Failed, Suspended, StartupPolicy...")] = ()
    restarts: Annotated[int, INT32, doc("How often the whole JobSet was restarted.")] = 0
    restarts_count_towards_max: Annotated[int, INT32, doc("Restarts that count against maxRestarts.")] = 0
    terminal_state: Annotated[str, doc("Completed or Failed, when finished.")] = ""
    replicated_jobs_status: Annotated[tuple[ReplicatedJobStatus, ...], list_map("name"), doc("Jobs by replicated job.")] = ()
    previous_in_place_restart_attempt: Annotated[int | None, INT32, schema(minimum=0), doc("Last attempt all pods left.")] = None
    current_in_place_restart_attempt: Annotated[int | None, INT32, schema(minimum=0), doc("Attempt the pods should run.")] = None


class JobSet(Struct, frozen=True):
    """A group of Jobs that start, succeed, fail and restart together."""

    metadata: ObjectMeta = ObjectMeta()
    spec: Annotated[JobSetSpec, JOB_SET_SPEC_RULES, doc("What to run.")] = JobSetSpec()
    status: Annotated[JobSetStatus, doc("The observed state of the JobSet.")] = JobSetStatus()


def end_of(conditions: Iterable[Condition]) -> Condition | None:
    """The condition by which a JobSet has ended; None where it has not."""
    return next((one for one in conditions if one.type in ENDS and one.is_true), None)


def longest_name(parts: Iterable[tuple[str, int, int]]) -> int:
    """How long a JobSet's name may be for its longest pod name to fit, by name, replicas and pods of its replicated jobs."""
    ends = [f"-{name}-{max(replicas - 1, 0)}-{max(pods - 1, 0)}" for name, replicas, pods in parts]
    return LONGEST_POD_NAME - RANDOM_SUFFIX - max(map(len, ends), default=0)


def replicas_and_pods(group: Json) -> tuple[int, int]:
    """How many Jobs a replicated job has, and how many pods each of them runs at a time."""
    parallelism = ((group.get("template") or {}).get("spec") or {}).get("parallelism")
    return int(group.get("replicas", 1)), 1 if parallelism is None else int(parallelism)


def longest_name_of(jobset: Json) -> int:
    """How long the name of this JobSet, as it is written, may be for the names of its pods to fit."""
    return longest_name((str(one["name"]), *replicas_and_pods(one)) for one in jobset["spec"].get("replicatedJobs") or [])
