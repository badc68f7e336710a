"""What the RuntimeClass of a new pod adds to it: its overhead, and where and beside what it may be scheduled.

Source: k8s.io/kubernetes 1.36 `plugin/pkg/admission/runtimeclass`, `pkg/util/tolerations`.
"""

from __future__ import annotations

from collections.abc import Sequence

from shunter.api.formats.quantity import parse
from shunter.api.meta import Json
from shunter.api.resources import RUNTIME_CLASSES
from shunter.cluster.apiserver.kinds import Objects, RejectedError, forbidden_pod_error

PACKAGED: Json = {"metadata": {"name": "nvidia"}, "handler": "nvidia"}
"""The class that NVIDIA's GPU operator makes; the server creates it at start, so that manifests for GPU clusters run here too."""


def admit(pod: Json, objects: Objects) -> None:
    """Changes a pod before it is created. Raises RejectedError where its class does not exist or contradicts it."""
    runtime_class = _class_of(pod, objects)
    if runtime_class is None:
        return
    spec = pod["spec"]
    if "overhead" in runtime_class:
        overhead = _overhead(runtime_class)
        if spec.get("overhead") and not _equal(spec["overhead"], overhead):
            raise _mismatch(pod)
        spec.pop("overhead", None)
        if overhead:
            spec["overhead"] = overhead
    if scheduling := runtime_class.get("scheduling"):
        _select_nodes(pod, scheduling.get("nodeSelector") or {})
        if tolerations := merged_tolerations(spec.get("tolerations") or [], scheduling.get("tolerations") or []):
            spec["tolerations"] = tolerations


def review(pod: Json, objects: Objects) -> None:
    """Raises RejectedError for an overhead that is not the class's."""
    runtime_class = _class_of(pod, objects) or {}
    if "overhead" in runtime_class:
        if not _equal(pod["spec"].get("overhead") or {}, _overhead(runtime_class)):
            raise _mismatch(pod)
    elif pod["spec"].get("overhead") is not None:
        raise forbidden_pod_error(pod, "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead")


def merged_tolerations(first: Sequence[Json], second: Sequence[Json]) -> list[Json]:
    """Both, without those that another one includes; of equal ones the first is kept."""
    together = [*first, *second]
    merged: list[Json] = []
    for index, one in enumerate(together):
        if any(_includes(other, one) for other in merged):
            continue
        if any(other != one and _includes(other, one) for other in together[index + 1 :]):
            continue
        merged.append(one)
    return merged


def _includes(wide: Json, narrow: Json) -> bool:
    if wide == narrow:
        return True
    key, operator, effect = (wide.get(name, "") for name in ("key", "operator", "effect"))
    if narrow.get("key", "") != key and (key or operator != "Exists"):
        return False
    if effect not in ("", narrow.get("effect", "")):
        return False
    seconds, narrow_seconds = wide.get("tolerationSeconds"), narrow.get("tolerationSeconds")
    if effect == "NoExecute" and seconds is not None and (narrow_seconds is None or narrow_seconds > seconds):
        return False
    if operator == "Exists":
        return True
    return narrow.get("operator") == "Equal" and narrow.get("value", "") == wide.get("value", "")


def _class_of(pod: Json, objects: Objects) -> Json | None:
    name = pod["spec"].get("runtimeClassName")
    if name is None:
        return None
    if not name:
        raise RejectedError("resource name may not be empty", code=500, reason="")
    found = objects.get(RUNTIME_CLASSES, "", name)
    if found is None:
        raise forbidden_pod_error(pod, f'pod rejected: RuntimeClass "{name}" not found')
    return found


def _overhead(runtime_class: Json) -> Json:
    return dict((runtime_class["overhead"] or {}).get("podFixed") or {})


def _equal(some: Json, other: Json) -> bool:
    return some.keys() == other.keys() and all(parse(some[name]) == parse(other[name]) for name in some)


def _select_nodes(pod: Json, labels: Json) -> None:
    selector = dict(pod["spec"].get("nodeSelector") or {})
    for key, value in labels.items():
        if selector.setdefault(key, value) != value:
            ours, theirs = f"runtimeClass.scheduling.nodeSelector[{key}]", f"pod.spec.nodeSelector[{key}]"
            raise forbidden_pod_error(pod, f"conflict: {ours} = {value}; {theirs} = {selector[key]}")
    if selector:
        pod["spec"]["nodeSelector"] = selector


def _mismatch(pod: Json) -> RejectedError:
    return forbidden_pod_error(pod, "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead")
