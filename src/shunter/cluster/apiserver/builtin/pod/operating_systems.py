"""What a pod may not say that names its operating system.

Source: k8s.io/kubernetes 1.36 `apis/core/validation`.
"""

from __future__ import annotations

from collections.abc import Iterator

from shunter.api.field_errors import FieldError, forbidden, required
from shunter.api.meta import Json
from shunter.cluster.apiserver.field_rules import unsupported

_OF_LINUX = "cannot be set for a windows pod"
_OF_WINDOWS = "windows options cannot be set for a linux pod"
_SPEC_FIELDS = ("hostUsers", "hostPID", "hostIPC", "shareProcessNamespace")
_POD_FIELDS = (
    *("appArmorProfile", "seLinuxOptions", "seccompProfile", "fsGroup", "fsGroupChangePolicy", "sysctls"),
    *("runAsUser", "runAsGroup", "supplementalGroups", "supplementalGroupsPolicy", "seLinuxChangePolicy"),
)
_CONTAINER_FIELDS = (
    *("appArmorProfile", "seLinuxOptions", "seccompProfile", "capabilities", "readOnlyRootFilesystem"),
    *("privileged", "allowPrivilegeEscalation", "procMount", "runAsUser", "runAsGroup"),
)


def operating_system_errors(spec: Json, field: str) -> list[FieldError]:
    """Fields of a pod spec that its operating system does not have; any is allowed where it names none."""
    if "os" not in spec:
        return []
    name = spec["os"].get("name", "")
    if not name:
        return [required(f"{field}.os.name")]
    if name not in ("linux", "windows"):
        return [unsupported(f"{field}.os", name, ["linux", "windows"])]
    contexts = [(f"{field}.securityContext", spec.get("securityContext") or {}), *_container_contexts(spec, field)]
    if name == "linux":
        return [forbidden(f"{here}.windowsOptions", _OF_WINDOWS) for here, context in contexts if "windowsOptions" in context]
    (pod_field, pod_context), *containers = contexts
    errors = [forbidden(f"{field}.{one}", _OF_LINUX) for one in _SPEC_FIELDS if spec.get(one)]
    errors += [forbidden(f"{pod_field}.{one}", _OF_LINUX) for one in _POD_FIELDS if one in pod_context]
    for here, context in containers:
        errors += [forbidden(f"{here}.{one}", _OF_LINUX) for one in _CONTAINER_FIELDS if one in context]
    return errors


def _container_contexts(spec: Json, field: str) -> Iterator[tuple[str, Json]]:
    for kind in ("initContainers", "containers", "ephemeralContainers"):
        for index, container in enumerate(spec.get(kind) or ()):
            yield f"{field}.{kind}[{index}].securityContext", container.get("securityContext") or {}
