"""The `shunter` command: the table of its verbs, and errors as messages and exit codes.

`shunter --help` and the completion of a verb import only this module, so it imports nothing that takes long.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Annotated, ClassVar

import typer

from shunter import __version__
from shunter.cli.options.command import ServerCommand
from shunter.cli.options.lazy_group import Entry, LazyGroup
from shunter.cli.options.run_command import RunCommand
from shunter.errors import EnvironmentProblem, ShunterError


class Verbs(LazyGroup):
    """Every verb of `shunter`, in the order of --help. Its module is imported when the verb is called."""

    table: ClassVar[Mapping[str, Entry]] = {
        "run": Entry(
            "shunter.cli.run", "run", "Start a program or apply manifests, follow, exit with the outcome.", {"cls": RunCommand}
        ),
        "jobs": Entry("shunter.cli.jobs", "jobs", "List training jobs of both generations."),
        "describe": Entry("shunter.cli.describe", "describe", "Show one job: conditions, ranks, failures, events."),
        "top": Entry("shunter.cli.top", "top", "Show jobs live: ranks, curve, last log lines."),
        "plot": Entry("shunter.cli.plot", "plot", "Plot a metric of a job as text."),
        "doctor": Entry("shunter.cli.doctor", "doctor", "Diagnose why a job does not train, hangs or failed."),
        "logs": Entry("shunter.cli.logs", "logs", "Print the logs of a job's ranks."),
        "checkpoints": Entry("shunter.cli.checkpoints", "checkpoints", "List saved checkpoints."),
        "ui": Entry("shunter.cli.ui", "app", "Show jobs, their ranks, logs and curves on a web page."),
        "size": Entry(
            "shunter.cli.size", "size", "Estimate the memory that training a model needs, and the machines it fits on."
        ),
        "scale": Entry("shunter.cli.scale", "scale", "Change the number of nodes of a job."),
        "delete": Entry("shunter.cli.delete", "delete", "Delete a job and its pods."),
        "up": Entry("shunter.cli.clusters", "up", "Start the embedded cluster."),
        "down": Entry("shunter.cli.clusters", "down", "Stop the embedded cluster."),
        "status": Entry("shunter.cli.status", "status", "Show the embedded cluster."),
        "kubectl": Entry(
            "shunter.cli.kubectl",
            "kubectl",
            "Run kubectl on the embedded cluster.",
            {"cls": "PassThroughCommand", "options_metavar": "[KUBECTL ARGUMENTS]...", "add_help_option": False},
            has_signature=False,
        ),
        "images": Entry("shunter.cli.images", "app", "Manage the environments that images map to on the embedded cluster."),
        "runtime": Entry("shunter.cli.runtime", "app", "Create runtimes with a fast network or with restarts."),
        "operator": Entry("shunter.cli.operator", "operator", "Run the operator against any API server.", {"cls": ServerCommand}),
        "node": Entry("shunter.cli.node", "node", "Join this machine to a cluster as a node."),
        "install": Entry("shunter.cli.install", "install", "Install the operator on a cluster, or upgrade it."),
        "uninstall": Entry("shunter.cli.install", "uninstall", "Uninstall the operator from a cluster."),
        "migrate": Entry(
            "shunter.cli.migrate",
            "app",
            "Migrate jobs from kubeflow.org/v1 to v2 and prove each conversion.",
            has_signature=False,
        ),
        "demo": Entry("shunter.cli.demo", "demo", "Train three distributed jobs on an embedded cluster, then clean up."),
    }


def application(group: type[LazyGroup] = Verbs) -> typer.Typer:
    """The command with all its verbs."""
    app = typer.Typer(
        name="shunter",
        cls=group,
        help="Run and manage distributed training jobs, on this machine without a cluster or on any Kubernetes cluster.",
        epilog="Start with: shunter run examples/v1/pytorch-simple.yaml",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    )
    app.callback()(options)
    return app


def print_version(is_set: bool) -> None:
    """With --version prints `shunter 1.2.3` and ends the command."""
    if is_set:
        typer.echo(f"shunter {__version__}")
        raise typer.Exit


def options(
    version: Annotated[bool, typer.Option("--version", callback=print_version, is_eager=True, help="Print the version.")] = False,
) -> None:
    """Options before the verb."""


def main() -> None:
    """Runs the command: exit code 0 for success, else the error's own (1 failed job, 2 wrong input, 3 environment)."""
    try:
        require_directory()
        application()()
    except ShunterError as error:
        from rich.text import Text  # which a command that succeeds may not need

        from shunter.cli.output.console import errors

        errors().print(Text.assemble(("error:", "bold red"), f" {error.message}"), soft_wrap=True)
        if error.remedy:
            errors().print(f"       {error.remedy}", soft_wrap=True)
        sys.exit(error.exit_code)


def require_directory() -> None:
    """Raises EnvironmentProblem if the current directory has been deleted: no relative path could be read."""
    try:
        os.getcwd()
    except FileNotFoundError as error:
        raise EnvironmentProblem("the current directory has been deleted.", "Change to one that exists: cd") from error


if __name__ == "__main__":
    main()
