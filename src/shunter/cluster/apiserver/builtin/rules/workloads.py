"""What ReplicaSets, Deployments, DaemonSets, StatefulSets and ReplicationControllers may say, and what of it may change.

Source: k8s.io/kubernetes 1.36 `pkg/apis/apps/validation/validation.go` and `pkg/apis/core/validation`; faults come in the
order of the real server.
"""

from __future__ import annotations

import re

from shunter.api.field_errors import FieldError, forbidden, invalid, required
from shunter.api.formats.digits import LARGEST, whole_number
from shunter.api.meta import Json
from shunter.api.names import label_faults
from shunter.api.selectors import selects
from shunter.cluster.apiserver.builtin.pod.rules import template_errors
from shunter.cluster.apiserver.builtin.rules.claims import claim_spec_errors
from shunter.cluster.apiserver.field_rules import changed, faults, negative, selector_errors, unsupported

_PERCENT = re.compile(r"[0-9]+%")
_NO_PERCENT = (
    "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', "
    "regex used for validation is '[0-9]+%')"
)
_STATEFUL_SET_CHANGES = (
    "replicas",
    "template",
    "updateStrategy",
    "minReadySeconds",
    "ordinals",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
)
_STATEFUL_SET_UPDATE = (
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', "
    "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
)


def replica_set_errors(replica_set: Json, old: Json | None) -> list[FieldError]:
    """The selector never changes. About an empty one the text says `deployment`, as `ValidateReplicaSetSpec` does."""
    spec = replica_set["spec"]
    errors = negative("spec.replicas", spec.get("replicas")) + negative("spec.minReadySeconds", spec.get("minReadySeconds"))
    errors += _selector_errors(spec, "deployment") + _replica_set_template_errors(spec)
    return errors + _selector_change(spec, old)


def deployment_errors(deployment: Json, old: Json | None) -> list[FieldError]:
    """The selector never changes; `progressDeadlineSeconds` is above `minReadySeconds`. A refused `activeDeadlineSeconds` is said
    to be one of a ReplicaSet: `ValidatePodTemplateSpecForReplicaSet` checks both."""
    spec = deployment["spec"]
    errors = negative("spec.replicas", spec.get("replicas"))
    errors += _selector_errors(spec, "deployment") + _replica_set_template_errors(spec)
    errors += _deployment_strategy_errors(spec["strategy"])
    for name in ("minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"):
        errors += negative(f"spec.{name}", spec.get(name))
    deadline = spec["progressDeadlineSeconds"]
    if deadline <= spec.get("minReadySeconds", 0):
        errors.append(invalid("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds"))
    return errors + _selector_change(spec, old)


def daemon_set_errors(daemon_set: Json, old: Json | None) -> list[FieldError]:
    """The selector never changes. In a rolling update exactly one of `maxUnavailable` and `maxSurge` is not 0."""
    spec = daemon_set["spec"]
    errors = _selector_change(spec, old)
    errors += selector_errors(spec.get("selector"), "spec.selector") or _mismatch(spec)
    if spec.get("selector") == {}:
        errors.append(_empty_selector("daemonset"))
    errors += template_errors(spec["template"], "spec.template") + _pod_errors(spec["template"]["spec"], "DaemonSet")
    errors += negative("spec.minReadySeconds", spec.get("minReadySeconds"))
    strategy = spec["updateStrategy"]
    if strategy["type"] == "RollingUpdate":
        errors += _daemon_rolling_errors(strategy["rollingUpdate"])
    elif strategy["type"] != "OnDelete":
        errors.append(unsupported("spec.updateStrategy", _internal(strategy), ["RollingUpdate", "OnDelete"]))
    return errors + negative("spec.revisionHistoryLimit", spec.get("revisionHistoryLimit"))


def stateful_set_errors(stateful_set: Json, old: Json | None) -> list[FieldError]:
    """All changes of fields that may not change are one fault of `spec`. `serviceName` is checked on create only."""
    spec = stateful_set["spec"]
    errors = []
    policy = spec["podManagementPolicy"]
    if policy not in ("OrderedReady", "Parallel"):
        errors.append(invalid("spec.podManagementPolicy", policy, "must be 'OrderedReady' or 'Parallel'"))
    errors += _stateful_strategy_errors(spec["updateStrategy"])
    for name, value in spec["persistentVolumeClaimRetentionPolicy"].items():
        if value not in ("Retain", "Delete"):
            errors.append(unsupported(f"spec.persistentVolumeClaimRetentionPolicy.{name}", value, ["Retain", "Delete"]))
    errors += negative("spec.replicas", spec.get("replicas")) + negative("spec.minReadySeconds", spec.get("minReadySeconds"))
    errors += negative("spec.ordinals.start", spec.get("ordinals", {}).get("start"))
    if old is None and spec.get("serviceName"):
        errors += faults("spec.serviceName", spec["serviceName"], label_faults(spec["serviceName"]))
    errors += _selector_errors(spec, "statefulset")
    is_unreadable = bool(selector_errors(spec.get("selector"), "spec.selector"))
    errors += [invalid("spec.selector", spec["selector"], "")] if is_unreadable else _mismatch(spec)
    errors += template_errors(_with_claims(spec), "spec.template") + _pod_errors(spec["template"]["spec"], "StatefulSet")
    if old is None:
        for index, claim in enumerate(spec.get("volumeClaimTemplates") or ()):
            errors += claim_spec_errors(claim["spec"], f"spec.volumeClaimTemplates[{index}].spec")
    if old is not None and _fixed(spec) != _fixed(old["spec"]):
        errors.append(forbidden("spec", _STATEFUL_SET_UPDATE))
    return errors


def replication_controller_errors(controller: Json, old: Json | None) -> list[FieldError]:
    """The selector is a plain map of labels, and may change like everything else."""
    spec = controller["spec"]
    errors = negative("spec.minReadySeconds", spec.get("minReadySeconds"))
    selector, template = spec.get("selector") or {}, spec.get("template")
    if not selector:
        errors.append(required("spec.selector"))
    errors += negative("spec.replicas", spec.get("replicas"))
    if template is None:
        return [*errors, required("spec.template")]
    labels = template["metadata"].get("labels", {})
    if not selector.items() <= labels.items():
        errors.append(_mismatched(labels))
    return errors + template_errors(template, "spec.template") + _pod_errors(template["spec"], "ReplicationController")


def pod_template_errors(template: Json, old: Json | None) -> list[FieldError]:
    """Unlike in the templates of workloads, `restartPolicy` need not be `Always`. Every field may change."""
    return template_errors(template["template"], "template")


def controller_revision_errors(revision: Json, old: Json | None) -> list[FieldError]:
    """`data` is required and never changes; `revision` is not below 0, and may change."""
    errors, data = negative("revision", revision.get("revision")), revision.get("data")
    if old is not None:
        return errors + changed("data", data, old.get("data"))
    return [*errors, required("data", "data is mandatory")] if data is None else errors


def _selector_errors(spec: Json, kind: str) -> list[FieldError]:
    selector = spec.get("selector")
    if selector is None:
        return [required("spec.selector")]
    errors = selector_errors(selector, "spec.selector")
    return errors if selector else [*errors, _empty_selector(kind)]


def _empty_selector(kind: str) -> FieldError:
    return invalid("spec.selector", {}, f"empty selector is invalid for {kind}")


def _selector_change(spec: Json, old: Json | None) -> list[FieldError]:
    return changed("spec.selector", spec.get("selector"), old["spec"].get("selector")) if old is not None else []


def _replica_set_template_errors(spec: Json) -> list[FieldError]:
    """An invalid selector is the only error reported."""
    selector = spec.get("selector")
    if selector_errors(selector, "spec.selector"):
        return [invalid("spec.selector", selector, "invalid label selector")]
    template = spec["template"]
    return _mismatch(spec) + template_errors(template, "spec.template") + _pod_errors(template["spec"], "ReplicaSet")


def _mismatch(spec: Json) -> list[FieldError]:
    """Without a selector nothing matches."""
    labels, selector = spec["template"]["metadata"].get("labels", {}), spec.get("selector")
    return [] if selector is not None and selects(selector, labels) else [_mismatched(labels)]


def _mismatched(labels: Json) -> FieldError:
    return invalid("spec.template.metadata.labels", labels or None, "`selector` does not match template `labels`")


def _pod_errors(spec: Json, kind: str) -> list[FieldError]:
    """Pods of workloads always restart, and have no deadline."""
    errors = []
    policy = spec.get("restartPolicy", "")
    if policy != "Always":
        errors.append(unsupported("spec.template.spec.restartPolicy", policy, ["Always"]))
    if "activeDeadlineSeconds" in spec:
        detail = f"activeDeadlineSeconds in {kind} is not Supported"
        errors.append(forbidden("spec.template.spec.activeDeadlineSeconds", detail))
    return errors


def _deployment_strategy_errors(strategy: Json) -> list[FieldError]:
    kind, rolling = strategy["type"], strategy.get("rollingUpdate")
    if kind == "Recreate" and rolling is not None:
        return [forbidden("spec.strategy.rollingUpdate", "may not be specified when strategy `type` is 'Recreate'")]
    if kind not in ("Recreate", "RollingUpdate"):
        return [unsupported("spec.strategy", _internal(strategy), ["Recreate", "RollingUpdate"])]
    if rolling is None:
        return []
    field = "spec.strategy.rollingUpdate"
    unavailable, surge = rolling["maxUnavailable"], rolling["maxSurge"]
    errors = share_errors(f"{field}.maxUnavailable", unavailable) + share_errors(f"{field}.maxSurge", surge)
    if _amount(unavailable) == _amount(surge) == 0:
        errors.append(invalid(f"{field}.maxUnavailable", unavailable, "may not be 0 when `maxSurge` is 0"))
    return errors + whole_errors(f"{field}.maxUnavailable", unavailable)


def _daemon_rolling_errors(rolling: Json) -> list[FieldError]:
    field = "spec.updateStrategy.rollingUpdate"
    unavailable, surge = rolling["maxUnavailable"], rolling["maxSurge"]
    errors = share_errors(f"{field}.maxUnavailable", unavailable) + share_errors(f"{field}.maxSurge", surge)
    errors += whole_errors(f"{field}.maxUnavailable", unavailable) + whole_errors(f"{field}.maxSurge", surge)
    if _amount(unavailable) and _amount(surge):
        errors.append(invalid(f"{field}.maxSurge", surge, "may not be set when maxUnavailable is non-zero"))
    elif not _amount(unavailable) and not _amount(surge):
        errors.append(required(f"{field}.maxUnavailable", "cannot be 0 when maxSurge is 0"))
    return errors


def _stateful_strategy_errors(strategy: Json) -> list[FieldError]:
    kind, rolling = strategy["type"], strategy.get("rollingUpdate")
    field = "spec.updateStrategy"
    if kind == "OnDelete" and rolling is not None:
        return [invalid(f"{field}.rollingUpdate", rolling, "only allowed for updateStrategy 'RollingUpdate'")]
    if kind not in ("OnDelete", "RollingUpdate"):
        return [invalid(field, strategy, "must be 'RollingUpdate' or 'OnDelete'")]
    if rolling is None:
        return []
    return negative(f"{field}.rollingUpdate.partition", rolling.get("partition"))


def _internal(strategy: Json) -> Json:
    """A strategy as the server prints it."""
    return {"Type": strategy["type"], "RollingUpdate": strategy.get("rollingUpdate")}


def share_errors(field: str, value: int | str) -> list[FieldError]:
    """A number that is not negative, or a percentage."""
    if isinstance(value, int):
        return negative(field, value)
    return [] if _PERCENT.fullmatch(value) else [invalid(field, value, _NO_PERCENT)]


def whole_errors(field: str, value: int | str) -> list[FieldError]:
    """Percentages above 100% are invalid; a number may have any size."""
    is_more = isinstance(value, str) and value.endswith("%") and _amount(value) > 100
    return [invalid(field, value, "must not be greater than 100%")] if is_more else []


def _amount(value: int | str) -> int:
    """The number of either; 0 for what is neither. More digits than Go reads stand for the largest number, as there."""
    if isinstance(value, int):
        return value
    digits = value.removesuffix("%")
    number = whole_number(digits)
    if number is None and digits.isascii() and digits.isdecimal():
        return LARGEST
    return number or 0


def _with_claims(spec: Json) -> Json:
    """The template with a volume for each claim, without host name and subdomain, which the controller sets."""
    template = spec["template"]
    claimed = [claim["metadata"].get("name", "") for claim in spec.get("volumeClaimTemplates") or ()]
    pod = {name: value for name, value in template["spec"].items() if name not in ("hostname", "subdomain")}
    if claimed:
        volumes = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in claimed]
        pod["volumes"] = [*volumes, *(one for one in pod.get("volumes") or () if one.get("name") not in claimed)]
    return {**template, "spec": pod}


def _fixed(spec: Json) -> Json:
    return {name: value for name, value in spec.items() if name not in _STATEFUL_SET_CHANGES}
