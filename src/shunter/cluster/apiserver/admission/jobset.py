"""What JobSet's own webhooks do, for a cluster where nobody runs them: defaults, rules beyond the schema, what may change.

Texts and order are theirs, down to the names of the webhooks. Source: sigs.k8s.io/jobset v0.12 `pkg/webhooks`, with its feature
gates at their defaults; compared with recordings of the real controller.
"""

from __future__ import annotations

import copy
import re
from typing import Any

from msgspec.structs import replace

from shunter.api.field_errors import FieldError, aggregate, invalid, too_long
from shunter.api.jobset import JOBSET_NAME
from shunter.api.meta import Json, annotations_of, as_json
from shunter.api.names import label_1035_faults, label_value_faults, subdomain_faults
from shunter.api.resources import JOBSETS, PERSISTENT_VOLUME_CLAIMS
from shunter.cluster.apiserver.field_rules import changed, faults, prefixed_path_errors
from shunter.cluster.apiserver.kinds import Kind, MalformedError, Objects, RejectedError
from shunter.cluster.apiserver.schema import golang

_DEFINITION = "io.x-k8s.sigs.jobset.api.jobset.v1alpha2.JobSet"
_MUTATING, _VALIDATING = "mjobset.kb.io", "vjobset.kb.io"
_LONGEST_NAME = 63
_TOO_LONG = "must be no more than 63 characters"
_MANY_PODS = 2**31 - 1
_RULE_NAME = re.compile(r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?", re.ASCII)
_RULE_NAME_LENGTH = range(1, 129)
_RULE_NAME_SHAPE = (
    "a failure policy rule name must start with an alphabetic character, optionally followed by a string of alphanumeric "
    "characters or '_,:', and must end with an alphanumeric character or '_'"
)
_JOB_FAILURE_REASONS = (
    "BackoffLimitExceeded",
    "DeadlineExceeded",
    "FailedIndexes",
    "MaxFailedIndexesExceeded",
    "PodFailurePolicy",
)
_PRIORITY = "jobset.sigs.k8s.io/priority"
_NODE_SELECTOR_STRATEGY = "alpha.jobset.sigs.k8s.io/node-selector"
_POD_FIELDS = ("nodeSelector", "tolerations", "schedulingGates")
_TEMPLATE_FIELDS = ("annotations", "labels")
_read = golang.reader(_DEFINITION)


def with_webhooks(kind: Kind) -> Kind:
    """The kind with JobSet's admission built in, if it is JobSet; else the kind as it is."""
    resource = kind.resource
    if (resource.group, resource.version, resource.plural) != (JOBSETS.group, JOBSETS.version, JOBSETS.plural):
        return kind
    return replace(kind, admit=_admit, review=_review)


def label_pod(pod: Json) -> None:
    """The mutating webhook for pods: those of a JobSet say their priority as a label, unless nodes were labelled for them."""
    annotations = annotations_of(pod)
    if JOBSET_NAME in annotations and _NODE_SELECTOR_STRATEGY not in annotations:
        pod["metadata"].setdefault("labels", {})[_PRIORITY] = str(pod["spec"]["priority"])


def _admit(job_set: Json, old: Json | None, objects: Objects) -> None:
    """The mutating webhook, which sees creations only."""
    if old is not None:
        return
    defaulted = as_json(job_set)
    try:
        _read(defaulted)
    except MalformedError as error:
        raise _denied(_MUTATING, str(error), code=400, reason="") from None
    del defaulted["status"]
    default(defaulted)
    _take_over(job_set, defaulted)


def _take_over(into: Any, defaulted: Any) -> None:
    """Adds and changes what the webhook wants; it removes nothing, not even what Go would not write."""
    if isinstance(into, dict):
        for name, value in defaulted.items():
            if type(value) is type(into.get(name)) and isinstance(value, (dict, list)):
                _take_over(into[name], value)
            else:
                into[name] = value
    elif len(into) == len(defaulted):
        for index, value in enumerate(defaulted):
            if type(value) is type(into[index]) and isinstance(value, (dict, list)):
                _take_over(into[index], value)
            else:
                into[index] = value


def default(job_set: Json) -> None:
    """Fills what the schema leaves open, in place."""
    spec = job_set["spec"]
    spec.setdefault("successPolicy", {"operator": "All"})
    spec.setdefault("startupPolicy", {"startupPolicyOrder": "AnyOrder"})
    for replicated in spec.get("replicatedJobs", ()):
        job = replicated["template"]["spec"]
        job.setdefault("completionMode", "Indexed")
        pod = job["template"]["spec"]
        pod["restartPolicy"] = pod.get("restartPolicy") or "OnFailure"
    network = spec.setdefault("network", {})
    network.setdefault("enableDNSHostnames", True)
    network.setdefault("publishNotReadyAddresses", True)
    for index, rule in enumerate(spec.get("failurePolicy", {}).get("rules", ())):
        rule["name"] = rule.get("name") or f"failurePolicyRule{index}"
    for policy in spec.get("volumeClaimPolicies", ()):
        policy.setdefault("retentionPolicy", {"whenDeleted": "Delete"})


def _review(job_set: Json, old: Json | None, objects: Objects) -> None:
    new = dict(job_set)  # reading changes nothing below
    _read(new)
    if old is None:
        errors = _creation_errors(new, job_set, objects)
    else:
        was = dict(old)
        _read(was)
        errors = _update_errors(new["spec"], was["spec"])
    if errors:
        name = job_set["metadata"].get("name", "")
        message = f'JobSet.jobset.x-k8s.io "{name}" is invalid: {aggregate(errors)}'
        raise _denied(_VALIDATING, message, code=422, reason="Invalid")


def _denied(webhook: str, message: str, *, code: int, reason: str) -> RejectedError:
    return RejectedError(f'admission webhook "{webhook}" denied the request: {message}', code=code, reason=reason)


def _internal(text: str) -> FieldError:
    """How JobSet reports a fault that belongs to no single field."""
    return FieldError("InternalError", "<nil>", f"Internal error: {text}")


def _creation_errors(job_set: Json, written: Json, objects: Objects) -> list[FieldError]:
    """`written` is the JobSet before Go's form drops what is empty: an empty dependsOn is still a dependsOn."""
    spec, name = job_set["spec"], job_set["metadata"].get("name", "")
    replicated_jobs = spec.get("replicatedJobs", [])
    errors: list[FieldError] = []
    if spec.get("failurePolicy", {}).get("restartStrategy") == "InPlaceRestart":
        detail = "InPlaceRestart restart strategy cannot be set when InPlaceRestart feature gate is disabled"
        errors.append(_internal(detail))
    if replicated_jobs and "dependsOn" in written["spec"]["replicatedJobs"][0]:
        errors.append(_internal("DependsOn can't be set for the first ReplicatedJob"))
    errors += _subdomain_errors(spec["network"].get("subdomain", ""))
    if (managed_by := spec.get("managedBy")) is not None:
        errors += prefixed_path_errors("spec.managedBy", managed_by)
        if len(managed_by) > _LONGEST_NAME:
            errors.append(too_long("spec.managedBy", _LONGEST_NAME))
    names: set[str] = set()
    for index, replicated in enumerate(replicated_jobs):
        names.add(replicated["name"])
        errors += _replicated_job_errors(replicated, name, names, f"spec.replicatedJobs[{index}]")
    errors += [
        _internal(f"invalid replicatedJob name '{target}' does not appear in .spec.ReplicatedJobs")
        for target in spec["successPolicy"].get("targetReplicatedJobs", ())
        if target not in names
    ]
    if "failurePolicy" in spec:
        errors += _failure_policy_errors(spec["failurePolicy"], names)
    if "coordinator" in spec:
        errors += _coordinator_errors(spec, name)
    return errors + _claim_errors(job_set, objects)


def _subdomain_errors(subdomain: str) -> list[FieldError]:
    if not subdomain:
        return []
    too_long_text = ".spec.network.subdomain is too long, must be less than 63 characters"
    found = [too_long_text if fault == _TOO_LONG else fault for fault in label_1035_faults(subdomain)]
    return faults("spec.network.subdomain", subdomain, [*subdomain_faults(subdomain), *found])


def _replicated_job_errors(replicated: Json, job_set: str, names: set[str], field: str) -> list[FieldError]:
    job, name, replicas = replicated["template"]["spec"], replicated["name"], replicated.get("replicas", 0)
    errors: list[FieldError] = []
    if job.get("parallelism", 1) * replicas > _MANY_PODS:
        detail = f"the product of replicas and parallelism must not exceed {_MANY_PODS} for replicatedJob '{name}'"
        errors.append(_internal(detail))
    group = replicated.get("groupName", "")
    group_too_long = ".spec.replicatedJob[].groupName is too long, must be less than 63 characters"
    errors += faults(f"{field}.groupName", group, _generated_name_faults(group, group_too_long))
    longest = f"{job_set}-{name}-{replicas - 1}"
    errors += faults(f"{field}.name", longest, _generated_name_faults(longest, _too_long_names("job")))
    if job.get("completionMode") == "Indexed" and "completions" in job:
        pod = f"{longest}-{job['completions'] - 1}-abcde"
        errors += faults(f"{field}.name", longest, _generated_name_faults(pod, _too_long_names("pod")))
    return errors + [
        _internal(f"replicatedJob: {name} cannot depend on replicatedJob: {dependency['name']}")
        for dependency in replicated.get("dependsOn", ())
        if dependency["name"] not in names
    ]


def _generated_name_faults(name: str, too_long_text: str) -> list[str]:
    return [too_long_text if fault == _TOO_LONG else fault for fault in label_1035_faults(name)]


def _too_long_names(what: str) -> str:
    return f"JobSet name is too long, {what} names generated for this JobSet will exceed 63 characters"


def _failure_policy_errors(policy: Json, names: set[str]) -> list[FieldError]:
    rules = policy.get("rules", [])
    if any(rule.get("action") in ("RestartJob", "RestartJobAndIgnoreMaxRestarts") for rule in rules):
        detail = "RestartJob and RestartJobAndIgnoreMaxRestarts failure policy actions are not allowed"
        return [_internal(f"{detail} when RestartJob feature gate is disabled")]
    errors: list[FieldError] = []
    indices: dict[str, list[int]] = {}
    for index, rule in enumerate(rules):
        name = rule.get("name", "")
        indices.setdefault(name, []).append(index)
        errors += _rule_errors(rule, name, names)
    for name, found in indices.items():
        if len(found) > 1:
            listed = " ".join(map(str, found))
            detail = f"rule names are not unique, rules with indices [{listed}] all have the same name '{name}'"
            errors.append(_internal(detail))
    return errors


def _rule_errors(rule: Json, name: str, names: set[str]) -> list[FieldError]:
    errors: list[FieldError] = []
    if len(name) not in _RULE_NAME_LENGTH:
        shortest, longest = _RULE_NAME_LENGTH[0], _RULE_NAME_LENGTH[-1]
        limits = f"at least {shortest} characters long and at most {longest} characters long"
        errors.append(_internal(f"invalid failure policy rule name of length {len(name)}, the rule name must be {limits}"))
    if not _RULE_NAME.fullmatch(name):
        errors.append(_internal(f"invalid failure policy rule name '{name}', {_RULE_NAME_SHAPE}"))
    errors += [
        _internal(f"invalid replicatedJob name '{target}' in failure policy does not appear in .spec.ReplicatedJobs")
        for target in rule.get("targetReplicatedJobs", ())
        if target not in names
    ]
    return errors + [
        _internal(f"invalid job failure reason '{reason}' in failure policy is not a recognized job failure reason")
        for reason in rule.get("onJobFailureReasons", ())
        if reason not in _JOB_FAILURE_REASONS
    ]


def _coordinator_errors(spec: Json, name: str) -> list[FieldError]:
    coordinator = spec["coordinator"]
    target, job_index = coordinator["replicatedJob"], coordinator.get("jobIndex", 0)
    pod_index = coordinator.get("podIndex", 0)
    fault = _coordinator_fault(spec, target, job_index, pod_index)
    errors = [_internal(fault)] if fault else []
    subdomain = spec["network"].get("subdomain") or name
    endpoint = f"{name}-{target}-{job_index}-{pod_index}.{subdomain}"
    if found := label_value_faults(endpoint):
        what = f'spec will lead to invalid label value "{endpoint}" for coordinator label "jobset.sigs.k8s.io/coordinator"'
        errors.append(_internal(f"{what} (long JobSet / ReplicatedJob / SubDomain name?): {', '.join(found)}"))
    return errors


def _coordinator_fault(spec: Json, target: str, job_index: int, pod_index: int) -> str:
    replicated = next((job for job in spec.get("replicatedJobs", ()) if job["name"] == target), None)
    if replicated is None:
        return f"coordinator replicatedJob {target} does not exist"
    if not 0 <= job_index < replicated.get("replicas", 0):
        return f"coordinator job index {job_index} is invalid for replicatedJob {target}"
    job = replicated["template"]["spec"]
    if job.get("completionMode") != "Indexed" or "completions" not in job:
        return "job for coordinator pod must be indexed completion mode, and completions number must be set"
    if not 0 <= pod_index < job["completions"]:
        return f"coordinator pod index {pod_index} is invalid for replicatedJob {target} job index {job_index}"
    return ""


def _claim_errors(job_set: Json, objects: Objects) -> list[FieldError]:
    spec, metadata = job_set["spec"], job_set["metadata"]
    errors: list[FieldError] = []
    names: set[str] = set()
    for index, policy in enumerate(spec.get("volumeClaimPolicies", ())):
        for at, template in enumerate(policy.get("templates") or ()):
            field = f"spec.volumeClaimPolicies[{index}].template[{at}]"
            name = template["metadata"].get("name", "")
            if name in names:
                detail = "names must be unique for VolumeClaimPolicies template"
                errors.append(invalid(f"{field}.name", name, detail))
            names.add(name)
            errors += faults(f"{field}.name", name, subdomain_faults(name))
            claim = f"{metadata.get('name', '')}-{name}"
            if len(claim) > _LONGEST_NAME:
                errors.append(invalid(f"{field}.name", name, "VolumeClaimPolicies template name is too long"))
            errors += _mount_errors(spec.get("replicatedJobs", []), name)
            existing = objects.get(PERSISTENT_VOLUME_CLAIMS, metadata.get("namespace", ""), claim)
            if existing is not None:
                errors += _existing_claim_errors(existing, template, policy, claim, metadata.get("namespace", ""), field)
    return errors


def _existing_claim_errors(
    existing: Json, template: Json, policy: Json, claim: str, namespace: str, field: str
) -> list[FieldError]:
    errors: list[FieldError] = []
    if existing["spec"] != template["spec"]:
        detail = f"spec does not match existing PVC {claim} in namespace {namespace}"
        errors.append(invalid(f"{field}.spec", template["spec"], detail))
    kept = policy.get("retentionPolicy", {}).get("whenDeleted", "Retain")
    if kept != "Retain":
        where = f"{field.partition('.template')[0]}.retentionPolicy.whenDeleted"
        errors.append(invalid(where, kept, "retentionPolicy must be retain when PVC exists"))
    return errors


def _mount_errors(replicated_jobs: list[Json], claim: str) -> list[FieldError]:
    errors: list[FieldError] = []
    mounted = False
    for index, replicated in enumerate(replicated_jobs):
        pod = replicated["template"]["spec"]["template"]["spec"]
        for at, volume in enumerate(pod.get("volumes", ())):
            if volume["name"] == claim:
                where = f"spec.replicatedJobs[{index}].template.spec.template.spec.volumes[{at}].name"
                detail = f"volume name conflicts with VolumeClaimPolicy template name: {claim}"
                errors.append(invalid(where, claim, detail))
        containers = [*pod.get("initContainers", ()), *(pod.get("containers") or ())]
        mounted = mounted or any(mount["name"] == claim for each in containers for mount in each.get("volumeMounts", ()))
    if not mounted:
        detail = f"replicatedJob containers don't have a matching volumeMount: {claim} from VolumeClaimPolicies"
        errors.append(invalid("spec.replicatedJobs", replicated_jobs, detail))
    return errors


def _update_errors(spec: Json, old: Json) -> list[FieldError]:
    """Nothing of the replicated Jobs changes, but for how suspended ones are scheduled and labelled."""
    jobs = copy.deepcopy(spec.get("replicatedJobs"))
    before = {job["name"]: job for job in old.get("replicatedJobs", ())}
    if old.get("suspend") or spec.get("suspend"):
        for job in jobs or ():
            if job["name"] in before:
                _put_back(job["template"]["spec"]["template"], before[job["name"]]["template"]["spec"]["template"])
    errors = changed("spec.replicatedJobs", jobs, old.get("replicatedJobs"))
    return errors + changed("spec.managedBy", spec.get("managedBy"), old.get("managedBy"))


def _put_back(template: Json, old: Json) -> None:
    for part, names in (("metadata", _TEMPLATE_FIELDS), ("spec", _POD_FIELDS)):
        for name in names:
            template[part].pop(name, None)
            if name in old[part]:
                template[part][name] = old[part][name]
