"""The `shunter` command: puts the verb groups together and turns errors into messages and exit codes.

Modules of this room import nothing heavy at the top: `shunter --help` must stay under 150 ms.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from shunter import __version__
from shunter.cli import checkpoints, clusters, demo, images, install, jobs, kubectl, migrate, node, operator, program_options, run
from shunter.errors import ShunterError

app = typer.Typer(
    name="shunter",
    help="Runs and looks after distributed training jobs: on this machine with no cluster, or on any Kubernetes.",
    epilog="Start with: shunter run examples/v1/pytorch-simple.yaml",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
app.command(
    "run", cls=program_options.RunCommand, short_help="Start a program or apply manifests, follow, exit with the outcome."
)(run.run)
app.command("jobs", short_help="List training jobs of both generations.")(jobs.jobs)
app.command("describe", short_help="Show one job: conditions, ranks, faults, events.")(jobs.describe)
app.command("logs", short_help="Print the logs of a job's ranks.")(jobs.logs)
app.command("checkpoints", short_help="List the checkpoints that jobs have saved on this machine.")(checkpoints.checkpoints)
app.command("delete", short_help="Delete a job and its pods.")(jobs.delete)
app.command("up", short_help="Start the embedded cluster.")(clusters.up)
app.command("down", short_help="Stop the embedded cluster.")(clusters.down)
app.command("status", short_help="Show the embedded cluster.")(clusters.status)
app.command(
    "kubectl",
    cls=kubectl.UntouchedWords,
    short_help="Run kubectl on the embedded cluster.",
    options_metavar="[KUBECTL'S WORDS]...",
    add_help_option=False,
)(kubectl.kubectl)
app.add_typer(images.app, name="images", short_help="Environments that stand for images on the embedded cluster.")
app.command("operator", short_help="Run the operator against any API server.")(operator.operator)
app.command("node", short_help="Join this machine to a cluster as a node.")(node.node)
app.command("install", short_help="Install the operator on a cluster, or upgrade it.")(install.install)
app.command("uninstall", short_help="Take the operator away from a cluster.")(install.uninstall)
app.add_typer(migrate.app, name="migrate", short_help="Move jobs from kubeflow.org/v1 to v2, with proof.")
app.command("demo", short_help="Train three distributed jobs for real, then clean up.")(demo.demo)


def print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"shunter {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[bool, typer.Option("--version", callback=print_version, is_eager=True, help="Print the version.")] = False,
) -> None:
    """Options before the verb."""


def main() -> None:
    """The entry point: exit code 0 for success, else the error's own (1 failed job, 2 wrong input, 3 environment)."""
    try:
        app()
    except ShunterError as error:
        from shunter.cli.console import errors

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
