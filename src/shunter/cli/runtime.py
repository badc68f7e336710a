"""`runtime`: creates TrainingRuntimes from others, for settings that a TrainJob does not have."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from shunter.cli.options import completion
from shunter.cli.options.command import Group
from shunter.cli.output.console import ObjectForm, print_objects, say
from shunter.cli.target import ContextOption, KubeconfigOption, connect
from shunter.errors import InputError
from shunter.launch.runtimes.creation import RuntimeOptions, create_runtime

app = typer.Typer(cls=Group, no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def runtime() -> None:
    """Create TrainingRuntimes from others."""


@app.command("create", short_help="Create a runtime with a fast network or with restarts.")
def create(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the TrainingRuntime.")],
    fabric: Annotated[str, typer.Option("--fabric", metavar="PROFILE", help="Fast network: efa, gib, ib or tcpxo.")] = "",
    instance: Annotated[
        str, typer.Option("--instance", metavar="TYPE", help="With --fabric: machine type, if the nodes are not labeled with it.")
    ] = "",
    restarts: Annotated[
        int | None, typer.Option("--restarts", help="How often to recreate all pods after a failure before a job fails.")
    ] = None,
    source: Annotated[
        str,
        typer.Option(
            "--from",
            metavar="RUNTIME",
            help="Runtime to copy [default: shunter-torch where installed, else torch-distributed].",
        ),
    ] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the runtime; change nothing.")] = False,
    form: Annotated[
        ObjectForm | None, typer.Option("-o", "--output", help="With --dry-run: as yaml or json [default: yaml].")
    ] = None,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = "",
    namespace: Annotated[
        str,
        typer.Option(
            "-n", "--namespace", autocompletion=completion.namespaces, help="Namespace of the runtime [default: the context's]."
        ),
    ] = "",
) -> None:
    """Create a copy of a runtime with a fast network (devices, variables, sidecars) or with restarts of all pods.

    Refer to it in the runtimeRef of a TrainJob, or with shunter run train.py --runtime NAME.
    """
    options = RuntimeOptions(name=name, source=source, fabric=fabric, instance=instance, restarts=restarts)
    if form and not dry_run:
        raise InputError(f"-o {form.value} prints what --dry-run would create.", "Add --dry-run, or leave -o out.")

    async def run() -> None:
        async with connect(kubeconfig, context).client as client:
            space = namespace or client.namespace
            made = await create_runtime(client, options, space, say, dry_run=dry_run)
            if dry_run:
                print_objects([made], form or ObjectForm.yaml)
            else:
                say(f"created TrainingRuntime {space}/{name}; use it: shunter run train.py --runtime {name} -n {space}")

    asyncio.run(run())
