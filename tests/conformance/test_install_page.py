"""docs/install.md, step by step: its commands are run as they stand there, on a real control plane whose pods run here."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from conformance.process_cluster import ProcessCluster
from control_plane import ControlPlane
from e2e.running_cluster import REPOSITORY

pytestmark = [pytest.mark.conformance, pytest.mark.timeout(600)]

NOT_HERE = ("podman build ",)
"""What this machine has no program for."""


class Step(NamedTuple):
    """The commands between two texts."""

    section: str
    line: int
    lead: str
    """The last line of text before them."""
    script: str


def steps(page: str) -> Iterator[Step]:
    """Every indented block of a page of docs/ that is no output; within the items of a list they are indented further."""
    section, lead, begun, depth = "", "", 0, 0
    block: list[str] = []
    for number, line in enumerate([*(REPOSITORY / "docs" / page).read_text().splitlines(), "end"], start=1):
        if line.startswith("    " if not block else " " * depth):
            if not block:
                begun, depth = number, len(line) - len(line.lstrip())
            block.append(line[depth:])
        elif block and line:
            yield Step(section, begun, lead, "\n".join(block))
            block = []
        elif block:
            block.append("")
        if line.startswith("## "):
            section = line[3:]
        if line and not block:
            lead = line


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[ProcessCluster]:
    with ControlPlane(tmp_path / "plane") as plane:
        running = ProcessCluster(plane, tmp_path / "node")
        running.start()
        try:
            yield running
        finally:
            running.stop()


def test_every_step_of_the_page_works(cluster: ProcessCluster, tmp_path: Path) -> None:
    (tmp_path / "deploy").symlink_to(REPOSITORY / "deploy")
    done = []
    for step in steps("install.md"):
        if step.script.startswith(NOT_HERE):
            continue
        print(f"docs/install.md:{step.line}\n{step.script}")
        print(cluster.must(f"cd {tmp_path}\n{step.script}"))
        done.append(step.section)
    assert set(done) == {
        "Before",
        "With the command",
        "With kubectl",
        "With Helm",
        "Limited to some namespaces",
        "Certificates",
        "What is installed",
        "Taking everything away",
    }
    left = cluster.must("kubectl get crd,clusterroles,mutatingwebhookconfigurations,validatingwebhookconfigurations -o name")
    assert [name for name in left.splitlines() if "shunter" in name or "kubeflow" in name] == []
    assert "shunter-system" not in cluster.must("kubectl get namespaces -o name")


def test_what_the_page_has_no_program_for_is_only_the_image() -> None:
    assert [step.section for step in steps("install.md") if step.script.startswith(NOT_HERE)] == ["Before"]
