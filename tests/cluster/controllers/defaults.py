"""What the API server fills into the objects that our controllers create, as the recordings show it."""

from __future__ import annotations

from typing import Any

from shunter.api.meta import Json

_TOLERATIONS = [
    {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
    for key in ("not-ready", "unreachable")
]


def admitted(obj: Json) -> None:
    """Fills in defaults in place; an object that has them already (a recorded one) is not changed."""
    match obj["kind"]:
        case "Job":
            _job(obj)
        case "Pod":
            _pod(obj)
        case "Service":
            _service(obj)
        case "Secret":
            _defaults(obj, type="Opaque")
        case "PersistentVolumeClaim":
            _defaults(obj["spec"], volumeMode="Filesystem")
            obj["metadata"]["finalizers"] = ["kubernetes.io/pvc-protection"]
            obj.setdefault("status", {"phase": "Pending"})


def _job(obj: Json) -> None:
    name, uid, spec = obj["metadata"]["name"], obj["metadata"]["uid"], obj["spec"]
    if "completions" not in spec and "parallelism" not in spec:
        spec["completions"] = 1
    spec.setdefault("parallelism", 1)
    per_index = spec.get("backoffLimitPerIndex") is not None
    _defaults(
        spec,
        backoffLimit=2**31 - 1 if per_index else 6,
        completionMode="NonIndexed",
        suspend=False,
        manualSelector=False,
        podReplacementPolicy="Failed" if spec.get("podFailurePolicy") else "TerminatingOrFailed",
        selector={"matchLabels": {"batch.kubernetes.io/controller-uid": uid}},
    )
    keys = {"controller-uid": uid, "job-name": name}
    keys |= {f"batch.kubernetes.io/{key}": value for key, value in keys.items()}
    if not spec["manualSelector"]:
        template_metadata = spec["template"].setdefault("metadata", {})
        template_metadata["labels"] = {**template_metadata.get("labels", {}), **keys}
    _defaults(obj, status={})
    _pod_spec(spec["template"]["spec"])


def _pod(obj: Json) -> None:
    spec = obj["spec"]
    _pod_spec(spec)
    if all(toleration["key"] != "node.kubernetes.io/not-ready" for toleration in spec.get("tolerations", [])):
        spec["tolerations"] = [*spec.get("tolerations", []), *_TOLERATIONS]
    _defaults(spec, priority=0, enableServiceLinks=True, preemptionPolicy="PreemptLowerPriority")
    obj.setdefault("status", {"phase": "Pending"})
    annotations = obj["metadata"].get("annotations", {})
    if "jobset.sigs.k8s.io/jobset-name" in annotations and "alpha.jobset.sigs.k8s.io/node-selector" not in annotations:
        obj["metadata"]["labels"]["jobset.sigs.k8s.io/priority"] = str(spec["priority"])


def _pod_spec(spec: Json) -> None:
    for container in [*spec.get("initContainers", []), *spec.get("containers", [])]:
        image = container.get("image", "")
        latest = ":" not in image or image.endswith(":latest")
        _defaults(
            container,
            resources={},
            terminationMessagePath="/dev/termination-log",
            terminationMessagePolicy="File",
            imagePullPolicy="Always" if latest else "IfNotPresent",
        )
        resources = container["resources"]
        if "limits" in resources:
            resources["requests"] = {**resources["limits"], **resources.get("requests", {})}
        for variable in container.get("env", []):
            if "fieldRef" in variable.get("valueFrom", {}):
                _defaults(variable["valueFrom"]["fieldRef"], apiVersion="v1")
    _defaults(
        spec,
        restartPolicy="Always",
        terminationGracePeriodSeconds=30,
        dnsPolicy="ClusterFirst",
        securityContext={},
        schedulerName="default-scheduler",
    )


def _service(obj: Json) -> None:
    spec = obj["spec"]
    _defaults(
        spec,
        clusterIPs=[spec["clusterIP"]],
        internalTrafficPolicy="Cluster",
        ipFamilies=["IPv4"],
        ipFamilyPolicy="SingleStack",
        sessionAffinity="None",
        type="ClusterIP",
    )
    if spec.get("publishNotReadyAddresses") is False:
        del spec["publishNotReadyAddresses"]
    _defaults(obj, status={"loadBalancer": {}})


def _defaults(obj: Json, **values: Any) -> None:
    for key, value in values.items():
        obj.setdefault(key, value)
