"""The `shunter` command: puts the verb groups together and turns errors into messages and exit codes.

Modules of this room import nothing heavy at the top: `shunter --help` must stay under 150 ms.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, Any, NamedTuple

import typer

from shunter import __version__
from shunter.cli.command import Command
from shunter.errors import ShunterError


class Verb(NamedTuple):
    """A command, or a group of commands, of a module of this package. It is imported when it is called."""

    module: str
    function: str
    short_help: str
    settings: dict[str, Any] = {}
    """What typer's `command` takes besides; `cls` is the name of a class in the module."""


VERBS = {
    "run": Verb("run", "run", "Start a program or apply manifests, follow, exit with the outcome.", {"cls": "RunCommand"}),
    "jobs": Verb("jobs", "jobs", "List training jobs of both generations."),
    "describe": Verb("jobs", "describe", "Show one job: conditions, ranks, failures, events."),
    "doctor": Verb("doctor", "doctor", "Diagnose why a job does not train, hangs or failed."),
    "logs": Verb("jobs", "logs", "Print the logs of a job's ranks."),
    "checkpoints": Verb("checkpoints", "checkpoints", "List saved checkpoints."),
    "size": Verb("size", "size", "Estimate the memory of a training and the machines it fits on."),
    "scale": Verb("scale", "scale", "Change the number of nodes of a job."),
    "delete": Verb("jobs", "delete", "Delete a job and its pods."),
    "up": Verb("clusters", "up", "Start the embedded cluster."),
    "down": Verb("clusters", "down", "Stop the embedded cluster."),
    "status": Verb("clusters", "status", "Show the embedded cluster."),
    "kubectl": Verb(
        "kubectl",
        "kubectl",
        "Run kubectl on the embedded cluster.",
        {"cls": "UntouchedWords", "options_metavar": "[KUBECTL ARGUMENTS]...", "add_help_option": False},
    ),
    "images": Verb("images", "app", "Manage the environments that images map to on the embedded cluster."),
    "runtime": Verb("runtime", "app", "Create runtimes with a fast network or with restarts."),
    "operator": Verb("operator", "operator", "Run the operator against any API server."),
    "node": Verb("node", "node", "Join this machine to a cluster as a node."),
    "install": Verb("install", "install", "Install the operator on a cluster, or upgrade it."),
    "uninstall": Verb("install", "uninstall", "Uninstall the operator from a cluster."),
    "migrate": Verb("migrate", "app", "Migrate jobs from kubeflow.org/v1 to v2 and prove each conversion."),
    "demo": Verb("demo", "demo", "Train three distributed jobs on an embedded cluster, then clean up."),
}


def application(verbs: Sequence[str] = tuple(VERBS)) -> typer.Typer:
    """The command with these verbs. Typer reads the options of all that it is given: for one of them that is most of its time."""
    app = typer.Typer(
        name="shunter",
        help="Run and manage distributed training jobs, on this machine without a cluster or on any Kubernetes cluster.",
        epilog="Start with: shunter run examples/v1/pytorch-simple.yaml",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    )
    app.callback()(options)
    for name in verbs:
        verb = VERBS[name]
        module = import_module(f"shunter.cli.{verb.module}")
        found = getattr(module, verb.function)
        if isinstance(found, typer.Typer):
            app.add_typer(found, name=name, short_help=verb.short_help)
        else:
            settings = {key: getattr(module, value) if key == "cls" else value for key, value in verb.settings.items()}
            settings.setdefault("cls", Command)
            app.command(name, short_help=verb.short_help, **settings)(found)
    return app


def print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"shunter {__version__}")
        raise typer.Exit


def options(
    version: Annotated[bool, typer.Option("--version", callback=print_version, is_eager=True, help="Print the version.")] = False,
) -> None:
    """Options before the verb."""


def main() -> None:
    """The entry point: exit code 0 for success, else the error's own (1 failed job, 2 wrong input, 3 environment)."""
    # Whoever completes a word, asks for help or misspells a verb needs all of them.
    verbs = sys.argv[1:2] if sys.argv[1:2] and sys.argv[1] in VERBS else tuple(VERBS)
    try:
        application(verbs)()
    except ShunterError as error:
        from shunter.cli.output.console import errors

        errors().print(f"[bold red]error:[/] {escape(error.message)}", highlight=False, soft_wrap=True)
        if error.remedy:
            errors().print(f"       {escape(error.remedy)}", highlight=False, soft_wrap=True)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(130)


def escape(text: str) -> str:
    from rich.markup import escape as escaped

    return escaped(text)


if __name__ == "__main__":
    main()
