"""The init containers of the Workers of a PyTorchJob: a YAML list with three placeholders.

    {{.InitContainerImage}}  {{.MaxTries}}  {{.MasterAddr}}

The form is upstream's (`/etc/config/initContainer.yaml`), so that a file written for Training Operator v1.9 can be taken over.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from shunter.api.meta import Json
from shunter.api.yaml import LenientLoader
from shunter.errors import InputError

UPSTREAMS_FILE = Path("/etc/config/initContainer.yaml")
"""Taken where it exists and no other is named."""
DEFAULT_TEMPLATE = """
- name: init-pytorch
  image: {{.InitContainerImage}}
  imagePullPolicy: IfNotPresent
  command:
  - sh
  - -c
  - "err=1;for i in $(seq {{.MaxTries}}); do if nslookup {{.MasterAddr}}; then err=0 && break; fi;\\
    echo waiting for master; sleep 2; done; exit $err"
  resources:
    limits: {cpu: 100m, memory: 20Mi}
    requests: {cpu: 50m, memory: 10Mi}
"""
"""Looks until the Master's name resolves, which it does once the Master is ready."""
_HOLE = re.compile(r"\{\{\s*\.(\w+)\s*\}\}")
_MASTER = "master-address-of-the-job"
"""Stands for the address, which differs from job to job, in the parsed template."""


def read(file: Path | None) -> str:
    """The template in `file`, or in upstream's place, or nothing. Raises InputError when it cannot be read."""
    if file is None and not UPSTREAMS_FILE.exists():
        return ""
    path = file or UPSTREAMS_FILE
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"the init container template {path} cannot be read: {error}.", "Name a readable file.") from error


@cache
def parsed(template: str, image: str, tries: int) -> list[Json]:
    """The containers, with the Master's address still to be filled in (`filled` does so in a copy). Raises InputError that says
    what is wrong with them."""
    values = {"InitContainerImage": image, "MaxTries": str(tries), "MasterAddr": _MASTER}

    def value(hole: re.Match[str]) -> str:
        if hole[1] not in values:
            raise _wrong(f"{hole[0]} is not known", f"Known are {', '.join(values)}.")
        return values[hole[1]]

    try:
        containers = yaml.load(_HOLE.sub(value, template), LenientLoader)
    except yaml.YAMLError as error:
        raise _wrong(f"it is no YAML: {error}", "Write a list of containers.") from error
    if not isinstance(containers, list):
        raise _wrong(f"it holds a {type(containers).__name__}", "Write a list of containers.")
    for number, container in enumerate(containers):
        if not isinstance(container, dict) or not all(isinstance(container.get(name), str) for name in ("name", "image")):
            raise _wrong(f"[{number}] has no name or no image", "Give every container both, as texts.")
    return containers


def filled(containers: list[Json], master: str) -> list[Json]:
    """The containers of one job's Workers."""
    return [_filled(container, master) for container in containers]


def _filled(value: Any, master: str) -> Any:
    match value:
        case str():
            return value.replace(_MASTER, master)
        case list():
            return [_filled(item, master) for item in value]
        case dict():
            return {name: _filled(item, master) for name, item in value.items()}
    return value


def _wrong(what: str, remedy: str) -> InputError:
    return InputError(f"the init container template of PyTorchJobs: {what}.", remedy)
