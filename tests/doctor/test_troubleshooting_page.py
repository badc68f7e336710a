"""docs/troubleshooting.md: each section begins with a command, and what it shows is what that command says."""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from doctor.test_corpus import CASES, CORPUS
from migrate.runs.test_comparison import run
from shunter.cli.console import errors, output
from shunter.cli.migrate.compare import shown
from shunter.doctor import recording
from shunter.doctor.diagnosing import diagnose
from shunter.doctor.text import report_lines
from shunter.migrate.runs.comparison import Tolerance, compared
from shunter.migrate.runs.record import Run

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "troubleshooting.md"
TEXT = PAGE.read_text() if PAGE.exists() else ""
BLOCK = re.compile(r"(?:^    .*\n)+", re.MULTILINE)

BROKEN = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: bert}
spec:
  pytorchReplicaSpecs:
    Master:
      replicas: 2
      restart_policy: Never
      template: {spec: {containers: [{name: pytorch, image: "team/bert:1", command: [torchrun, train.py]}]}}
"""
FALLING = [2.5 - 0.02 * step for step in range(100)]


def paced(world_size: int, losses: list[float], seconds: float, kind: str) -> Run:
    """A run whose ranks print a loss every so many seconds."""
    begun = datetime(2026, 11, 21, 10, tzinfo=UTC)
    logs = [
        [
            f"{(begun + timedelta(seconds=seconds * step)).isoformat()} {text}"
            for step, text in enumerate(
                [f"rank={rank} world_size={world_size}", *(f"step={step} loss={loss:.4f}" for step, loss in enumerate(losses, 1))]
            )
        ]
        for rank in range(world_size)
    ]
    return run(*logs, kind=kind, namespace="team-a")


RESULTS = (paced(2, FALLING, 0.5, "PyTorchJob"), paced(1, [loss + 0.3 for loss in FALLING], 0.5, "TrainJob"))
REGRESSION = (paced(2, FALLING, 0.5, "PyTorchJob"), paced(2, FALLING, 0.75, "TrainJob"))


def blocks() -> list[list[str]]:
    """The indented blocks of the page, without their indent."""
    return [[line[4:] for line in block[0].rstrip("\n").split("\n")] for block in BLOCK.finditer(TEXT)]


def commands(program: str) -> list[tuple[str, list[str]]]:
    """The blocks that show this command: its words, and its output."""
    prefix = f"$ shunter {program} "
    return [(block[0].removeprefix(prefix), block[1:]) for block in blocks() if block[0].startswith(prefix)]


def by_job() -> dict[str, list[str]]:
    found = {}
    for name in CASES:
        evidence = recording.read(CORPUS / name)
        report = diagnose(evidence, evidence.at)
        found.setdefault(report.job.rsplit("/", 1)[1], [line.rstrip() for line in report_lines(report)])
    return found


def comparison_text(original: Run, successor: Run) -> str:
    """What `compare` prints, but for the aspects that are equal."""
    said = io.StringIO()
    for console in (output, errors):
        console.cache_clear()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        shown(compared(original, successor, Tolerance()))
    for console in (output, errors):
        console.cache_clear()
    lines = [re.sub(r"\x1b\[[0-9;]*m", "", line).rstrip() for line in said.getvalue().splitlines()]
    return "\n".join(
        line
        for line in lines
        if not re.match(r"\S.*?  +(?:equal|not seen|within tolerance)\b", line) and "(shown only)" not in line
    )


def converted() -> str:
    """What `convert` says of BROKEN on standard error."""
    with tempfile.TemporaryDirectory() as directory:
        (Path(directory) / "bert.yaml").write_text(BROKEN)
        done = subprocess.run(
            [sys.executable, "-m", "shunter.cli.main", "migrate", "convert", "-f", "bert.yaml"],
            cwd=directory,
            env={**os.environ, "NO_COLOR": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 3, done.stderr
    return done.stderr


def test_each_section_begins_with_a_command() -> None:
    sections = re.split(r"^## ", TEXT, flags=re.MULTILINE)[1:]
    assert [section.splitlines()[0] for section in sections][: len(ISSUES)] == ISSUES
    for section in sections[: len(ISSUES)]:
        assert section.split("\n")[2].startswith("    $ shunter "), section


ISSUES = [
    "NCCL timeout",
    "Ranks that do not match",
    "Out of memory, in the backward pass or elsewhere",
    "Conversion fails",
    "A TrainJob does not deploy",
    "Different results after the move",
    "Slower than before",
]


@pytest.mark.parametrize(("job", "lines"), commands("doctor"), ids=[job for job, _ in commands("doctor")])
def test_what_the_page_shows_is_what_doctor_says(job: str, lines: list[str]) -> None:
    assert lines == by_job()[job]


def test_what_the_page_shows_of_a_conversion_is_what_convert_says() -> None:
    assert BROKEN.rstrip("\n").split("\n") in blocks()
    ((_, lines),) = commands("migrate convert")
    assert lines == converted().rstrip("\n").split("\n")


def test_what_the_page_shows_of_comparisons_is_what_compare_says() -> None:
    found = [lines for _, lines in commands("migrate compare")]
    assert found == [comparison_text(*RESULTS).split("\n"), comparison_text(*REGRESSION).split("\n")]
