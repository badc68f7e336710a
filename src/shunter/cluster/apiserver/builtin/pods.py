"""The Pod kind: what admission adds to a pod, what its strategy resets, what its rules are.

Source: k8s.io/kubernetes 1.36 `registry/core/pod`, admission plugins Priority and DefaultTolerationSeconds. The plugin
ServiceAccount is in `admission.service_account`.
"""

from __future__ import annotations

from shunter.api.meta import Json
from shunter.api.names import label_faults
from shunter.api.resources import PODS, PRIORITY_CLASSES
from shunter.cluster.apiserver.admission.jobset import label_pod
from shunter.cluster.apiserver.builtin.pod.defaults import default_pod
from shunter.cluster.apiserver.builtin.pod.label_keys import add_label_values
from shunter.cluster.apiserver.builtin.pod.resources import qos_class
from shunter.cluster.apiserver.builtin.pod.rules import pod_errors, pod_status_errors
from shunter.cluster.apiserver.builtin.pod.warnings import pod_spec_warnings
from shunter.cluster.apiserver.builtin.typed import typed
from shunter.cluster.apiserver.kinds import Kind, Objects, StoredField, forbidden_pod_error

_EVICTION_TAINTS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_EVICTION_SECONDS = 300


def kind() -> Kind:
    """Without a PriorityClass a pod gets the default one, if there is one; every pod tolerates for 300 seconds that its
    node is not ready or unreachable, unless it has tolerations for that."""
    return typed(
        PODS,
        short_names=("po",),
        categories=("all",),
        has_status=True,
        graceful_deletion=True,
        selectable_fields=(
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "spec.hostNetwork",
            "status.phase",
            "status.podIP",
            "status.podIPs",
            "status.nominatedNodeName",
        ),
        stored_fields={
            "spec.hostNetwork": StoredField(("spec.hostNetwork",), "false"),
            "status.podIPs": StoredField(()),  # a label that kube-apiserver knows and that no pod has
        },
        pod_spec="spec",
        default=default_pod,
        admit=_admit,
        prepare=_prepare,
        validate=pod_errors,
        warnings=_warnings,
        prepare_status=_prepare_status,
        validate_status=pod_status_errors,
    )


def _admit(pod: Json, old: Json | None, objects: Objects) -> None:
    spec = pod["spec"]
    if old is None:
        _set_priority(pod, objects)
        label_pod(pod)
    else:
        for name in ("priority", "preemptionPolicy"):
            if name not in spec and name in old["spec"]:
                spec[name] = old["spec"][name]
    _tolerate_eviction_taints(spec)


def _set_priority(pod: Json, objects: Objects) -> None:
    spec = pod["spec"]
    name = spec.get("priorityClassName", "")
    if name:
        found = objects.get(PRIORITY_CLASSES, "", name)
        if found is None:
            raise forbidden_pod_error(pod, f"no PriorityClass with name {name} was found")
    else:
        defaults = [item for item in objects.all(PRIORITY_CLASSES) if item.get("globalDefault")]
        found = min(defaults, key=lambda item: item.get("value", 0), default=None)
        if found is not None:
            spec["priorityClassName"] = found["metadata"]["name"]
    priority = found.get("value", 0) if found else 0
    policy = found.get("preemptionPolicy", "PreemptLowerPriority") if found else "PreemptLowerPriority"
    if spec.setdefault("priority", priority) != priority:
        raise forbidden_pod_error(
            pod,
            f"the integer value of priority ({spec['priority']}) must not be provided in pod spec; "
            f"priority admission controller computed {priority} from the given PriorityClass name",
        )
    if spec.setdefault("preemptionPolicy", policy) != policy:
        raise forbidden_pod_error(
            pod,
            f"the string value of PreemptionPolicy ({spec['preemptionPolicy']}) must not be provided in pod spec; "
            f"priority admission controller computed {policy} from the given PriorityClass name",
        )


def _tolerate_eviction_taints(spec: Json) -> None:
    tolerations = spec.get("tolerations", [])
    missing = [
        {"key": taint, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": _EVICTION_SECONDS}
        for taint in _EVICTION_TAINTS
        if not any(
            toleration.get("key", "") in ("", taint) and toleration.get("effect", "") in ("", "NoExecute")
            for toleration in tolerations
        )
    ]
    if missing:
        spec["tolerations"] = [*tolerations, *missing]


def _prepare(pod: Json, old: Json | None) -> None:
    if old is not None:
        return
    add_label_values(pod)
    if pod["spec"]["terminationGracePeriodSeconds"] < 0:
        pod["spec"]["terminationGracePeriodSeconds"] = 1
    status = pod["status"] = {"phase": "Pending", "qosClass": qos_class(pod["spec"])}
    if pod["spec"].get("schedulingGates"):
        status["conditions"] = [
            {
                "type": "PodScheduled",
                "status": "False",
                "lastProbeTime": None,
                "lastTransitionTime": pod["metadata"].get("creationTimestamp"),
                "reason": "SchedulingGated",
                "message": "Scheduling is blocked due to non-empty scheduling gates",
            }
        ]


def _prepare_status(pod: Json, old: Json | None) -> None:
    assert old is not None
    pod["metadata"].pop("ownerReferences", None)
    if owners := old["metadata"].get("ownerReferences"):
        pod["metadata"]["ownerReferences"] = owners
    if quality := old["status"].get("qosClass"):
        pod["status"].setdefault("qosClass", quality)


def _warnings(pod: Json, old: Json | None, objects: Objects) -> list[str]:
    found = label_faults(pod["metadata"]["name"]) if old is None else []
    where = "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior"
    named = [f"{where}; a DNS label is recommended: [{' '.join(found)}]"] if found else []
    return named + (pod_spec_warnings(pod["spec"], "spec") if old is None else [])
