"""What the commands on docs/troubleshooting.md say: recorded faults, a manifest, two pairs of runs.

PYTHONPATH=tests .venv/bin/python -m doctor.troubleshooting      # writes their output into the page
"""

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

from doctor.test_corpus import CASES, CORPUS
from migrate.moving.runs.test_comparison import run
from shunter.cli.migrate.comparison_output import print_run_comparison
from shunter.cli.output.console import errors, output
from shunter.doctor import recording
from shunter.doctor.diagnosing import diagnose
from shunter.doctor.text import report_lines
from shunter.migrate.moving.runs.comparison import Tolerance, compared
from shunter.migrate.moving.runs.record import Run

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "troubleshooting.md"
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


def by_job() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
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
        print_run_comparison(compared(original, successor, Tolerance()))
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


def outputs() -> dict[str, list[list[str]]]:
    """By command, what it says: of a command that the page shows more than once, one after another."""
    return {
        **{f"doctor {job}": [lines] for job, lines in by_job().items()},
        "migrate convert -f bert.yaml": [converted().rstrip("\n").split("\n")],
        "migrate compare pytorchjob/bert trainjob/bert": [comparison_text(*runs).split("\n") for runs in (RESULTS, REGRESSION)],
    }


def rewritten(text: str) -> str:
    """The page with the output of each command as it is now; KeyError for a command that nothing is known of."""
    left = {command: list(said) for command, said in outputs().items()}

    def block(match: re.Match[str]) -> str:
        command = match[0].split("\n", 1)[0].removeprefix("    $ shunter ")
        if command == match[0].split("\n", 1)[0]:
            return match[0]
        said = left[command]
        lines = said.pop(0) if len(said) > 1 else said[0]
        return "".join(f"    {line}".rstrip() + "\n" for line in (f"$ shunter {command}", *lines))

    return BLOCK.sub(block, text)


if __name__ == "__main__":
    PAGE.write_text(rewritten(PAGE.read_text()))
