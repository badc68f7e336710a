"""Variables that are read from a file in a volume of the pod.

Source: k8s.io/kubernetes 1.36 `apis/core/validation`.
"""

from __future__ import annotations

from shunter.api.field_errors import FieldError, invalid, not_found, required
from shunter.api.meta import Json
from shunter.api.names import environment_name_faults, label_faults
from shunter.cluster.apiserver.builtin.pod.volume_rules import backstep_errors
from shunter.cluster.apiserver.field_rules import faults


def file_key_errors(selector: Json, field: str) -> list[FieldError]:
    """A `fileKeyRef`: all three parts have to be there."""
    key, volume, path = (selector.get(name, "") for name in ("key", "volumeName", "path"))
    errors = faults(f"{field}.key", key, environment_name_faults(key)) if key else [required(f"{field}.key")]
    errors += faults(f"{field}.volumeName", volume, label_faults(volume)) if volume else [required(f"{field}.volumeName")]
    return errors + (backstep_errors(path, f"{field}.path") if path else [required(f"{field}.path")])


def file_key_volume_errors(spec: Json, field: str) -> list[FieldError]:
    """The volumes that variables of a pod spec are read from: they have to be empty directories at first."""
    volumes = {volume.get("name", ""): volume for volume in spec.get("volumes") or ()}
    errors: list[FieldError] = []
    for kind in ("initContainers", "containers", "ephemeralContainers"):
        for index, container in enumerate(spec.get(kind) or ()):
            for at, variable in enumerate(container.get("env") or ()):
                selector = (variable.get("valueFrom") or {}).get("fileKeyRef")
                if selector is None:
                    continue
                here, name = f"{field}.{kind}[{index}].env[{at}].valueFrom.fileKeyRef.volumeName", selector.get("volumeName", "")
                if name not in volumes:
                    errors.append(not_found(here, name))
                elif "emptyDir" not in volumes[name]:
                    errors.append(invalid(here, name, "referenced volume must be of type emptyDir"))
    return errors
