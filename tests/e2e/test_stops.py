"""A program that saves at SIGTERM and ends: whoever follows it reads so, whatever stopped it, and nobody calls it a failure."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from e2e.running_cluster import Cluster, eventually

pytestmark = pytest.mark.timeout(240)

SCRIPT = """
import os, pathlib, signal, time
def stop(*_):
    if place := os.environ.get("SHUNTER_CHECKPOINT_DIR"):
        step = pathlib.Path(place, "step-13")
        step.mkdir(exist_ok=True)
        (step / ".metadata").write_text("complete")
    print("stopped by SIGTERM, saved step 13", flush=True)
    raise SystemExit(143)
signal.signal(signal.SIGTERM, stop)
print("training", flush=True)
while True:
    time.sleep(0.2)
"""
SAVED = ["[node-0] stopped by SIGTERM, saved step 13", "[node-1] stopped by SIGTERM, saved step 13"]
TAKEN_AWAY = ["-- node-0 is deleted: Eviction API: evicting", "-- node-1 is deleted: Eviction API: evicting"]


def suspend(cluster: Cluster, namespace: str) -> None:
    cluster.kubectl("patch", "trainjob/train", "-n", namespace, "--type=merge", "-p", '{"spec":{"suspend":true}}')


def delete(cluster: Cluster, namespace: str) -> None:
    done = cluster.shunter("delete", "train", "-n", namespace)
    how = "" if is_mounted(cluster) else " (according to its log)"
    said = [line for line in done.stderr.splitlines() if " waits for " not in line]
    assert said == [f"train: stopped, saved step 13{how}", f"deleted TrainJob {namespace}/train"], done.stderr
    assert "ignores SIGTERM" not in done.stderr


def is_mounted(cluster: Cluster) -> bool:
    """Whether checkpoints are in a directory of this machine."""
    return cluster.kind != "real"


def drain(cluster: Cluster, namespace: str) -> None:
    for pod in cluster.get("pods", "-n", namespace, "-l", "jobset.sigs.k8s.io/jobset-name=train")["items"]:
        cluster.evict(pod["metadata"]["name"], namespace)


@pytest.mark.parametrize("stop", [suspend, delete, drain])
def test_a_stop_is_told_by_what_was_saved_and_not_as_a_failure(
    cluster: Cluster, namespace: str, start: Any, tmp_path: Path, stop: Callable[[Cluster, str], None]
) -> None:
    (tmp_path / "train.py").write_text(SCRIPT)
    # Its own first process, so that no torch has to be imported for it.
    options = ["--nodes", "2", "--runtime", "jax-distributed", "--name", "train", "--snapshot", "-n", namespace]
    following: subprocess.Popen[str] = start("run", str(tmp_path / "train.py"), *options)
    said: list[str] = []
    while sum("] training" in line for line in said) < 2:
        said.append(following.stdout.readline())  # type: ignore[union-attr]
        assert said[-1], said
    stop(cluster, namespace)
    while not all(any(line.rstrip() == saved for line in said) for saved in SAVED):
        said.append(following.stdout.readline())  # type: ignore[union-attr]
        assert said[-1], said
    while stop is drain and not all(any(line.startswith(away) for line in said) for away in TAKEN_AWAY):
        said.append(following.stdout.readline())  # type: ignore[union-attr]
        assert said[-1], said
    if stop is suspend:
        eventually(lambda: not cluster.get("pods", "-n", namespace)["items"])
    if stop is delete:
        said.append(following.stdout.read())  # type: ignore[union-attr]
        assert "was deleted" in "".join(said)
    else:
        described = cluster.shunter("describe", "train", "-n", namespace).stdout
        assert "Faults" not in described, described
        assert ("Cause    Suspended: it waits" in described) if stop is suspend else "Cause" not in described, described
        if is_mounted(cluster):
            assert "Checkpoint of step 13, saved" in described
        if stop is suspend and is_mounted(cluster):
            assert "it waits because spec.suspend is true; its newest checkpoint is of step 13\n" in described
    assert not any("failed" in line or "error" in line.lower() for line in said), said
