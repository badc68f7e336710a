"""The Job and CronJob kinds: defaults, and the selector and labels that tie pods to their Job.

Source: k8s.io/kubernetes 1.36 `apis/batch/v1` defaults, `registry/batch/job` strategy.
"""

from __future__ import annotations

from shunter.api.batch import JOB_NAME_LABELS, JOB_UID_LABELS
from shunter.api.meta import Json
from shunter.api.names import label_value_faults
from shunter.api.resources import CRON_JOBS, JOBS
from shunter.cluster.apiserver.builtin.job.rules import cron_job_errors, job_errors
from shunter.cluster.apiserver.builtin.job.status_rules import job_status_errors
from shunter.cluster.apiserver.builtin.pod.defaults import default_pod_spec
from shunter.cluster.apiserver.builtin.pod.warnings import is_changed, name_warnings, pod_spec_warnings
from shunter.cluster.apiserver.builtin.typed import typed
from shunter.cluster.apiserver.kinds import Kind, Objects, StoredField

_TOO_MANY_INDEXES = (
    "spec.completions or spec.parallelism: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism "
    "higher than 10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes fail"
)


def kinds() -> list[Kind]:
    """Job and CronJob. The DELETE of a Job without propagationPolicy leaves its pods behind; that of a CronJob deletes its Jobs
    too."""
    return [
        typed(
            JOBS,
            categories=("all",),
            has_status=True,
            selectable_fields=("status.successful",),
            stored_fields={"status.successful": StoredField(("status.succeeded",), "0")},
            default_propagation="Orphan",
            pod_spec="spec.template.spec",
            default=_default_job,
            prepare=_prepare,
            validate=job_errors,
            validate_status=job_status_errors,
            warnings=_warnings,
        ),
        typed(
            CRON_JOBS,
            short_names=("cj",),
            categories=("all",),
            has_status=True,
            pod_spec="spec.jobTemplate.spec.template.spec",
            default=_default_cron_job,
            validate=cron_job_errors,
            warnings=_cron_job_warnings,
        ),
    ]


def default_job_spec(spec: Json) -> None:
    """Defaults of a Job's spec, except those that only a Job itself gets."""
    default_pod_spec(spec["template"]["spec"])
    for rule in spec.get("podFailurePolicy", {}).get("rules") or ():
        for pattern in rule.get("onPodConditions", ()):
            pattern["status"] = pattern.get("status") or "True"


def _default_job(job: Json) -> None:
    spec = job["spec"]
    default_job_spec(spec)
    if "completions" not in spec and "parallelism" not in spec:
        spec["completions"] = 1
    spec.setdefault("parallelism", 1)
    spec.setdefault("backoffLimit", 2**31 - 1 if "backoffLimitPerIndex" in spec else 6)
    spec.setdefault("completionMode", "NonIndexed")
    spec.setdefault("suspend", False)
    spec.setdefault("podReplacementPolicy", "Failed" if "podFailurePolicy" in spec else "TerminatingOrFailed")
    spec.setdefault("manualSelector", False)
    _inherit_labels(job)


def _inherit_labels(job: Json) -> None:
    """A Job without labels has those of its pods: the very same ones, so that it gets what is added to them."""
    if labels := job["spec"]["template"]["metadata"].get("labels"):
        job["metadata"]["labels"] = job["metadata"].get("labels") or labels


def _prepare(job: Json, old: Json | None) -> None:
    if old is not None:
        return
    metadata, spec = job["metadata"], job["spec"]
    template = spec["template"]["metadata"]
    inherits = metadata.get("labels") is template.get("labels")
    if not spec["manualSelector"]:
        labels = template.setdefault("labels", {})
        for name in JOB_NAME_LABELS:
            labels.setdefault(name, metadata.get("name", ""))
        for name in JOB_UID_LABELS:
            labels.setdefault(name, metadata["uid"])
        selector = spec.setdefault("selector", {}).setdefault("matchLabels", {})
        selector.setdefault(JOB_UID_LABELS[1], metadata["uid"])
    if inherits and not label_value_faults(metadata.get("name", "")):
        metadata["labels"] = dict(template.get("labels", {}))


def _default_cron_job(cron_job: Json) -> None:
    spec = cron_job["spec"]
    spec.setdefault("concurrencyPolicy", "Allow")
    spec.setdefault("suspend", False)
    spec.setdefault("successfulJobsHistoryLimit", 3)
    spec.setdefault("failedJobsHistoryLimit", 1)
    default_job_spec(spec["jobTemplate"]["spec"])


def _warnings(job: Json, old: Json | None, objects: Objects) -> list[str]:
    return name_warnings(job, old) + (_spec_warnings(job["spec"], "spec") if is_changed(job, old) else [])


def _cron_job_warnings(cron_job: Json, old: Json | None, objects: Objects) -> list[str]:
    about = _spec_warnings(cron_job["spec"]["jobTemplate"]["spec"], "spec.jobTemplate.spec") if is_changed(cron_job, old) else []
    return name_warnings(cron_job, old) + about


def _spec_warnings(spec: Json, field: str) -> list[str]:
    completions, parallelism = spec.get("completions", 0), spec.get("parallelism", 0)
    is_large = spec.get("completionMode") == "Indexed" and completions > 100_000 and parallelism > 10_000
    found = pod_spec_warnings(spec["template"]["spec"], f"{field}.template.spec")
    return [_TOO_MANY_INDEXES, *found] if is_large else found
