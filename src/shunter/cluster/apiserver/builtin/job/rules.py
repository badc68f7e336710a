"""What a Job may say, and what of it may change.

Source: k8s.io/kubernetes 1.36 `apis/batch/validation`; the order of faults is the real server's. Where the real server prints a
whole pod template in its internal form, ours prints it as it is written.
"""

from __future__ import annotations

import copy
import itertools

from shunter.api.field_errors import FieldError, duplicate, invalid, not_supported, required, too_long, too_many
from shunter.api.formats import cron
from shunter.api.meta import Json
from shunter.api.names import label_faults, label_key_faults
from shunter.api.selectors import selects
from shunter.cluster.apiserver.builtin.job.indexes import IndexesError, parse_indexes
from shunter.cluster.apiserver.builtin.pod.rules import template_errors
from shunter.cluster.apiserver.field_rules import (
    changed,
    faults,
    invalid_as_a_whole,
    negative,
    prefixed_path_errors,
    selector_errors,
    unsupported,
)
from shunter.cluster.apiserver.status import quoted

_INDEXED_LIMIT = 100_000
_LIMIT_ABOVE = 10_000
_RULES = 20
_EXIT_CODES = 255
_MANAGED_BY = 63
_INDEXES_TEXT = 64 * 1024
_ACTIONS = ["Count", "FailIndex", "FailJob", "Ignore"]
_OPERATORS = ["In", "NotIn"]
_STATUSES = ["False", "True", "Unknown"]
_CONCURRENCY_POLICIES = ["Allow", "Forbid", "Replace"]
_CRON_JOB_NAME = 52
"""Characters: a Job's name has 63, of which a hyphen and the minutes of its time take 11."""


def job_errors(job: Json, old: Json | None) -> list[FieldError]:
    """A Job, and what an update changes of it."""
    metadata, spec = job["metadata"], job["spec"]
    errors = _generated_selector_errors(job)
    errors += _selected_spec_errors(spec)
    completions = spec.get("completions", 0)
    if spec["completionMode"] == "Indexed" and completions > 0:
        hostname = f"{metadata.get('name', '')}-{completions - 1}"
        if label_faults(hostname):
            detail = f"will not able to create pod with invalid DNS label: {hostname}"
            errors.append(invalid("metadata.name", metadata.get("name", ""), detail))
    return errors if old is None else errors + _update_errors(spec, old)


def cron_job_errors(cron_job: Json, old: Json | None) -> list[FieldError]:
    """A CronJob. Its name leaves room for the time that the names of its Jobs end with."""
    spec, before = cron_job["spec"], (old or {}).get("spec", {})
    errors = _schedule_errors(spec, before)
    errors += negative("spec.startingDeadlineSeconds", spec.get("startingDeadlineSeconds"))
    if old is None or spec.get("timeZone") != before.get("timeZone"):
        errors += _time_zone_errors(spec.get("timeZone"))
    if spec["concurrencyPolicy"] not in _CONCURRENCY_POLICIES:
        errors.append(unsupported("spec.concurrencyPolicy", spec["concurrencyPolicy"], _CONCURRENCY_POLICIES))
    template = spec["jobTemplate"]["spec"]
    errors += _spec_errors(template, "spec.jobTemplate.spec")
    if "selector" in template:
        errors.append(invalid("spec.jobTemplate.spec.selector", template["selector"], "`selector` will be auto-generated"))
    if template.get("manualSelector"):
        errors.append(not_supported("spec.jobTemplate.spec.manualSelector", True, ["nil", "false"]))
    for name in ("successfulJobsHistoryLimit", "failedJobsHistoryLimit"):
        errors += negative(f"spec.{name}", spec.get(name))
    name = cron_job["metadata"].get("name", "")
    if old is None and len(name) > _CRON_JOB_NAME:
        errors.append(invalid("metadata.name", name, f"must be no more than {_CRON_JOB_NAME} characters"))
    return errors


def _schedule_errors(spec: Json, before: Json) -> list[FieldError]:
    text = spec.get("schedule", "")
    if not text:
        return [required("spec.schedule")]
    errors: list[FieldError] = []
    try:
        cron.schedule(text)
    except ValueError as error:
        errors.append(invalid("spec.schedule", text, str(error)))
    if "TZ" in text and "TZ" not in before.get("schedule", ""):
        errors.append(invalid("spec.schedule", text, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"))
    elif "TZ" in text and "timeZone" in spec:
        errors.append(invalid("spec.schedule", text, "cannot use both timeZone field and TZ or CRON_TZ in schedule"))
    return errors


def _time_zone_errors(zone: str | None) -> list[FieldError]:
    if zone is None:
        return []
    if not zone:
        return [invalid("spec.timeZone", zone, "timeZone must be nil or non-empty string")]
    if zone.lower() == "local":
        detail = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
        return [invalid("spec.timeZone", zone, detail)]
    try:
        cron.time_zone(zone)
    except ValueError as error:
        return [invalid("spec.timeZone", zone, str(error))]
    return []


def _generated_selector_errors(job: Json) -> list[FieldError]:
    metadata, spec = job["metadata"], job["spec"]
    if spec.get("manualSelector") or "selector" not in spec:
        return []
    labels = spec["template"]["metadata"].get("labels", {})
    expected = {
        "controller-uid": metadata["uid"],
        "job-name": metadata.get("name", ""),
        "batch.kubernetes.io/controller-uid": metadata["uid"],
        "batch.kubernetes.io/job-name": metadata.get("name", ""),
    }
    errors = []
    for name, value in expected.items():
        field = f"spec.template.metadata.labels[{name}]"
        if name not in labels:
            errors.append(required(field, f"must be '{value}'"))
        elif labels[name] != value:
            errors.append(invalid(field, dict(sorted(labels.items())), f"must be '{value}'"))
    if not selects(spec["selector"], expected):
        errors.append(invalid("spec.selector", spec["selector"], "`selector` not auto-generated"))
    return errors


def _selected_spec_errors(spec: Json) -> list[FieldError]:
    errors = _spec_errors(spec, "spec")
    selector = spec.get("selector")
    errors += selector_errors(selector, "spec.selector") if selector is not None else [required("spec.selector")]
    labels = spec["template"]["metadata"].get("labels", {})
    if selector is None or not selects(selector, labels):
        detail = "`selector` does not match template `labels`"
        errors.append(invalid("spec.template.metadata.labels", dict(sorted(labels.items())) or None, detail))
    return errors


def _spec_errors(spec: Json, field: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for name in ("parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished"):
        errors += negative(f"{field}.{name}", spec.get(name))
    errors += negative(f"{field}.backoffLimitPerIndex", spec.get("backoffLimitPerIndex"))
    errors += negative(f"{field}.maxFailedIndexes", spec.get("maxFailedIndexes"))
    if "maxFailedIndexes" in spec and "backoffLimitPerIndex" not in spec:
        errors.append(required(f"{field}.backoffLimitPerIndex", "when maxFailedIndexes is specified"))
    if (managed_by := spec.get("managedBy")) is not None:
        errors += prefixed_path_errors(f"{field}.managedBy", managed_by)
        if len(managed_by) > _MANAGED_BY:
            errors.append(too_long(f"{field}.managedBy", _MANAGED_BY))
    errors += _completion_mode_errors(spec, field)
    if (policy := spec.get("podFailurePolicy")) is not None:
        errors += _failure_policy_errors(policy, spec, f"{field}.podFailurePolicy")
    if (policy := spec.get("successPolicy")) is not None:
        errors += _success_policy_errors(policy, spec, f"{field}.successPolicy")
    replacement = spec.get("podReplacementPolicy")
    if replacement is not None:
        supported = ["Failed"] if "podFailurePolicy" in spec else ["Failed", "TerminatingOrFailed"]
        if replacement not in supported:
            errors.append(not_supported(f"{field}.podReplacementPolicy", replacement, supported))
    errors += template_errors(spec["template"], f"{field}.template")
    return errors + _restart_policy_errors(spec, f"{field}.template.spec.restartPolicy")


def _restart_policy_errors(spec: Json, field: str) -> list[FieldError]:
    policy = spec["template"]["spec"].get("restartPolicy", "")
    if policy in ("", "Always"):
        return [required(field, 'valid values: "OnFailure", "Never"')]
    if policy not in ("OnFailure", "Never"):
        return [unsupported(field, policy, ["OnFailure", "Never"])]
    if "podFailurePolicy" in spec and policy != "Never":
        return [invalid(field, policy, 'only "Never" is supported when podFailurePolicy is specified')]
    return []


def _completion_mode_errors(spec: Json, field: str) -> list[FieldError]:
    mode = spec.get("completionMode", "NonIndexed")
    errors: list[FieldError] = []
    if mode not in ("NonIndexed", "Indexed"):
        errors.append(unsupported(f"{field}.completionMode", mode, ["NonIndexed", "Indexed"]))
    if mode == "NonIndexed":
        errors += [
            invalid(f"{field}.{name}", spec[name], "requires indexed completion mode")
            for name in ("backoffLimitPerIndex", "maxFailedIndexes")
            if name in spec
        ]
    if mode != "Indexed":
        return errors
    completions, failed, parallelism = spec.get("completions"), spec.get("maxFailedIndexes"), spec.get("parallelism", 0)
    if completions is None:
        errors.append(required(f"{field}.completions", "when completion mode is Indexed"))
    if parallelism > _INDEXED_LIMIT:
        detail = f"must be less than or equal to {_INDEXED_LIMIT} when completion mode is Indexed"
        errors.append(invalid(f"{field}.parallelism", parallelism, detail))
    if completions is not None and failed is not None and failed > completions:
        errors.append(invalid(f"{field}.maxFailedIndexes", failed, "must be less than or equal to completions"))
    if failed is not None and failed > _INDEXED_LIMIT:
        errors.append(invalid(f"{field}.maxFailedIndexes", failed, f"must be less than or equal to {_INDEXED_LIMIT}"))
    if (completions or 0) > _INDEXED_LIMIT and "backoffLimitPerIndex" in spec:
        errors += _many_indexes_errors(failed, parallelism, field)
    return errors


def _many_indexes_errors(failed: int | None, parallelism: int, field: str) -> list[FieldError]:
    detail = (
        f"must be less than or equal to {_LIMIT_ABOVE} when completions are above {_INDEXED_LIMIT} "
        "and used with backoff limit per index"
    )
    errors: list[FieldError] = []
    if failed is None:
        errors.append(required(f"{field}.maxFailedIndexes", f"must be specified when completions is above {_INDEXED_LIMIT}"))
    if parallelism > _LIMIT_ABOVE:
        errors.append(invalid(f"{field}.parallelism", parallelism, detail))
    if failed is not None and failed > _LIMIT_ABOVE:
        errors.append(invalid(f"{field}.maxFailedIndexes", failed, detail))
    return errors


def _failure_policy_errors(policy: Json, spec: Json, field: str) -> list[FieldError]:
    rules = policy.get("rules") or []
    errors: list[FieldError] = []
    if len(rules) > _RULES:
        errors.append(too_many(f"{field}.rules", len(rules), _RULES))
    pod = spec["template"]["spec"]
    names = {container.get("name", "") for container in (*(pod.get("containers") or ()), *pod.get("initContainers", ()))}
    for index, rule in enumerate(rules):
        errors += _failure_rule_errors(rule, spec, names, f"{field}.rules[{index}]")
    return errors


def _failure_rule_errors(rule: Json, spec: Json, names: set[str], field: str) -> list[FieldError]:
    errors: list[FieldError] = []
    action, conditions = rule.get("action", ""), rule.get("onPodConditions", [])
    if not action:
        errors.append(required(f"{field}.action", f"valid values: {quoted(_ACTIONS)}"))
    elif action == "FailIndex" and "backoffLimitPerIndex" not in spec:
        errors.append(invalid(f"{field}.action", action, "requires the backoffLimitPerIndex to be set"))
    elif action not in _ACTIONS:
        errors.append(not_supported(f"{field}.action", action, _ACTIONS))
    if "onExitCodes" in rule:
        errors += _exit_code_errors(rule["onExitCodes"], names, f"{field}.onExitCodes")
    if len(conditions) > _RULES:
        errors.append(too_many(f"{field}.onPodConditions", len(conditions), _RULES))
    for index, pattern in enumerate(conditions):
        here = f"{field}.onPodConditions[{index}]"
        errors += faults(f"{here}.type", pattern.get("type", ""), label_key_faults(pattern.get("type", "")))
        status = pattern.get("status", "")
        if status not in _STATUSES:
            errors.append(not_supported(f"{here}.status", status, _STATUSES))
    if "onExitCodes" in rule and conditions:
        errors.append(invalid_as_a_whole(field, "specifying both OnExitCodes and OnPodConditions is not supported"))
    if "onExitCodes" not in rule and not conditions:
        errors.append(invalid_as_a_whole(field, "specifying one of OnExitCodes and OnPodConditions is required"))
    return errors


def _exit_code_errors(requirement: Json, names: set[str], field: str) -> list[FieldError]:
    errors: list[FieldError] = []
    operator, values = requirement.get("operator", ""), requirement.get("values") or []
    if not operator:
        errors.append(required(f"{field}.operator", f"valid values: {quoted(_OPERATORS)}"))
    elif operator not in _OPERATORS:
        errors.append(not_supported(f"{field}.operator", operator, _OPERATORS))
    container = requirement.get("containerName")
    if container is not None and container not in names:
        detail = "must be one of the container or initContainer names in the pod template"
        errors.append(invalid(f"{field}.containerName", container, detail))
    if not values:
        errors.append(invalid(f"{field}.values", requirement.get("values"), "at least one value is required"))
    elif len(values) > _EXIT_CODES:
        errors.append(too_many(f"{field}.values", len(values), _EXIT_CODES))
    for index, value in enumerate(values):
        if operator == "In" and value == 0:
            errors.append(invalid(f"{field}.values[{index}]", value, "must not be 0 for the In operator"))
        if value in values[:index]:
            errors.append(duplicate(f"{field}.values[{index}]", value))
    if any(later < earlier for earlier, later in itertools.pairwise(values)):
        errors.append(invalid(f"{field}.values", values, "must be ordered"))
    return errors


def _success_policy_errors(policy: Json, spec: Json, field: str) -> list[FieldError]:
    if spec.get("completionMode") != "Indexed":
        return [invalid(field, policy, "requires indexed completion mode")]
    rules = policy.get("rules") or []
    errors: list[FieldError] = []
    if not rules:
        errors.append(required(f"{field}.rules", "at least one rules must be specified when the successPolicy is specified"))
    if len(rules) > _RULES:
        errors.append(too_many(f"{field}.rules", len(rules), _RULES))
    for index, rule in enumerate(rules):
        errors += _success_rule_errors(rule, spec.get("completions", 0), f"{field}.rules[{index}]")
    return errors


def _success_rule_errors(rule: Json, completions: int, field: str) -> list[FieldError]:
    count, indexes = rule.get("succeededCount"), rule.get("succeededIndexes")
    errors: list[FieldError] = []
    if count is None and indexes is None:
        errors.append(required(field, "at least one of succeededCount or succeededIndexes must be specified"))
    total = 0
    if indexes is not None:
        if len(indexes) > _INDEXES_TEXT:
            errors.append(too_long(f"{field}.succeededIndexes", _INDEXES_TEXT))
        try:
            total = sum(last - first + 1 for first, last in parse_indexes(indexes, completions))
        except IndexesError as error:
            errors.append(invalid(f"{field}.succeededIndexes", indexes, f"error parsing succeededIndexes: {error}"))
    if count is not None:
        here = f"{field}.succeededCount"
        errors += negative(here, count)
        if count > completions:
            detail = f"must be less than or equal to {completions} (the number of specified completions)"
            errors.append(invalid(here, count, detail))
        if indexes is not None and count > total:
            detail = f"must be less than or equal to {total} (the number of indexes in the specified succeededIndexes field)"
            errors.append(invalid(here, count, detail))
    return errors


def _update_errors(spec: Json, old: Json) -> list[FieldError]:
    was = old["spec"]
    errors: list[FieldError] = []
    completions = spec.get("completions")
    if completions != was.get("completions"):
        if spec["completionMode"] != "Indexed":
            errors += changed("spec.completions", completions, was.get("completions"))
        elif completions is not None and completions != spec["parallelism"]:
            errors.append(invalid("spec.completions", completions, "can only be modified in tandem with spec.parallelism"))
    errors += changed("spec.selector", spec.get("selector"), was.get("selector"))
    errors += _template_update_errors(spec["template"], old)
    for name in ("completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy"):
        errors += changed(f"spec.{name}", spec.get(name), was.get(name))
    return errors


def _template_update_errors(template: Json, old: Json) -> list[FieldError]:
    """Scheduling directives and resources of a suspended Job without pods may change; nothing else of a template may."""
    spec, status = old["spec"], old["status"]
    suspended = any(item["type"] == "Suspended" and item["status"] == "True" for item in status.get("conditions", ()))
    adjustable = bool(spec.get("suspend")) and ("startTime" not in status or suspended) and not status.get("active")
    expected = copy.deepcopy(spec["template"])
    if not adjustable:
        return changed("spec.template", template, expected)
    pod, expected_pod = template["spec"], expected["spec"]
    for name in ("nodeSelector", "tolerations", "schedulingGates"):
        _take(expected_pod, pod, name)
    affinity = expected_pod.setdefault("affinity", {})
    _take(affinity, pod.get("affinity", {}), "nodeAffinity")
    if not affinity and "affinity" not in pod:
        del expected_pod["affinity"]
    for name in ("containers", "initContainers"):
        if len(pod.get(name) or ()) == len(expected_pod.get(name) or ()):
            for container, before in zip(pod.get(name) or (), expected_pod.get(name) or (), strict=True):
                if container.get("name") == before.get("name"):
                    before["resources"] = container["resources"]
    return changed("spec.template.spec", pod, expected_pod)


def _take(into: Json, source: Json, name: str) -> None:
    into.pop(name, None)
    if name in source:
        into[name] = source[name]
