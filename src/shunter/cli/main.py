"""The `shunter` command: puts the verb groups together and turns errors into messages and exit codes.

Modules of this room import nothing heavy at the top: `shunter --help` must stay under 150 ms.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from shunter import __version__
from shunter.cli import clusters, demo, jobs, kubectl, operator, run
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
app.command("run")(run.run)
app.command("jobs")(jobs.jobs)
app.command("describe")(jobs.describe)
app.command("logs")(jobs.logs)
app.command("delete")(jobs.delete)
app.command("up")(clusters.up)
app.command("down")(clusters.down)
app.command("status")(clusters.status)
app.command("kubectl", context_settings=kubectl.CONTEXT_SETTINGS)(kubectl.kubectl)
app.command("operator")(operator.operator)
app.command("demo")(demo.demo)


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
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(141)


def escape(text: str) -> str:
    from rich.markup import escape as escaped

    return escaped(text)


if __name__ == "__main__":
    main()
