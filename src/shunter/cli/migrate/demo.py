"""`migrate demo`: migrates a folder of v1 jobs with proof, on a temporary cluster, by the commands that a user would type."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from shunter.cli.demo import end_cluster, existing
from shunter.cli.migrate import exit_codes
from shunter.cli.output.console import errors
from shunter.cluster import lifecycle
from shunter.cluster.state_dir import StateDir
from shunter.errors import EnvironmentProblem

TRAP = "regression"
"""The job whose naive conversion trains three models; in `migration/regression.yaml`."""


@dataclass(frozen=True)
class Step:
    """A command, and its expected exit code."""

    title: str
    arguments: tuple[str, ...]
    expected: int = exit_codes.OK
    into: str = ""
    """A file for its standard output."""


def steps(examples: Path, results: Path) -> tuple[Step, ...]:
    """The steps of the migration of the example jobs, up to the report."""
    trap = str(examples / "migration/regression.yaml")
    inputs = ("-f", str(examples / "v1"), "-f", str(examples / "migration"))
    of_trap = (TRAP, "-n", "training")
    decisions = ("--elastic-nodes=replicas", "--accept=MPI001")
    comparison = results / "comparison.json"
    return (
        Step("Is the cluster ready?", ("migrate", "assess")),
        Step("Which jobs exist?", ("migrate", "inventory", *inputs)),
        Step(
            "A job as it is: its conversion would train three models, and is rejected",
            ("migrate", "convert", "-f", trap, "--torch-launch=as-is"),
            exit_codes.BLOCKED,
        ),
        Step("All jobs, with two decisions", ("migrate", "convert", *inputs, *decisions, "--output-dir", str(results / "v2"))),
        Step("Proof: the pods of both sides, rank by rank", ("migrate", "validate", *inputs, *decisions)),
        Step("The original trains", ("run", trap)),
        Step(
            "The converted job trains beside it, with the same results",
            ("migrate", "test", *of_trap, "--keep=600", f"--export={results / 'trial.json'}"),
        ),
        Step("The evidence for the report", ("migrate", "compare", *of_trap, "-o", "json"), into=str(comparison)),
        Step(
            "Run the rejected conversion anyway: every pod succeeds, and compare detects the difference",
            ("migrate", "test", *of_trap, "--torch-launch=as-is", "--accept=TORCH001", "--suffix=-as-is"),
            exit_codes.DIFFERENT,
        ),
        Step(
            "The report",
            ("migrate", "report", *inputs, *decisions, f"--comparison={comparison}", f"--output-dir={results / 'report'}"),
        ),
    )


def demo(
    examples: Annotated[Path, typer.Option(help="Directory with the example manifests.")] = Path("examples"),
    results: Annotated[Path, typer.Option(help="Directory for converted manifests and the report.")] = Path("migration-demo"),
) -> None:
    """Assess, convert, prove, train beside the original, compare and report; shows a pitfall that the proof detects.

    Starts a separate embedded cluster and stops it at the end. Exit code 1 if a step fails.
    """
    planned = steps(existing(examples), results)
    try:
        results.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise EnvironmentProblem(f"--results {results}: {error.strerror}.", "Use a directory that can be created.") from error
    state = StateDir(Path(tempfile.mkdtemp(prefix="shunter-demo-")))
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        started = lifecycle.start(lifecycle.Options(state_dir=state.root))
        errors().print(f"embedded cluster up in {started.seconds:.1f} s")
        environment = {**os.environ, "KUBECONFIG": str(state.kubeconfig)}
        failed = next((step for step in planned if not ends_as_expected(step, environment)), None)
    finally:
        end_cluster(state)
        shutil.rmtree(state.root, ignore_errors=True)
    if failed is not None:
        errors().print(f"the demo stopped at: {failed.title}", style="bold red")
        raise typer.Exit(exit_codes.FAILED)
    made = f": {results / 'report' / 'index.html'} is the report, {results / 'v2'} what to apply"
    errors().print(Text.assemble(("done", "green"), made), soft_wrap=True)


def ends_as_expected(step: Step, environment: Mapping[str, str]) -> bool:
    """Prints and runs the command of a step."""
    errors().print(f"\n{step.title}", style="bold")
    shown = shlex.join(("shunter", *step.arguments)) + (f" > {shlex.quote(step.into)}" if step.into else "")
    errors().print(f"$ {shown}", style="cyan", soft_wrap=True)
    command = [sys.executable, "-m", "shunter.cli.main", *step.arguments]
    if step.into:
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=False)
        Path(step.into).write_bytes(done.stdout)
    else:
        done = subprocess.run(command, env=environment, check=False)
    if done.returncode != step.expected:
        errors().print(f"exit code {done.returncode}, not {step.expected}", style="red")
    return done.returncode == step.expected
