"""`install`, `uninstall`: install the operator on a cluster, and uninstall it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import TracebackType
from typing import Annotated

import typer
import yaml
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TaskID, TextColumn
from rich.text import Text

from shunter.api.meta import Json
from shunter.api.yaml import load_yaml
from shunter.cli.output.console import ObjectForm, errors, note, output, print_objects, say
from shunter.cli.target import ContextOption, connect, is_named
from shunter.cluster.apiserver.packaged_schemas import packaged_crds
from shunter.cluster.target import Target
from shunter.errors import InputError
from shunter.install import installing, removing, values, waiting
from shunter.install.changes import Change

ClusterOption = Annotated[
    Path | None,
    typer.Option(
        "--kubeconfig", help="Cluster to install on [default: $KUBECONFIG]; required unless --context or $KUBECONFIG is set."
    ),
]
InstallationOption = Annotated[str, typer.Option("-n", "--namespace", help="Namespace of the operator.")]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Print what would be done; change nothing.")]

COLOURS = {"created": "green", "changed": "yellow", "unchanged": "dim", "deleted": "red", "skipped": "dim"}


def install(
    kubeconfig: ClusterOption = None,
    context: ContextOption = "",
    namespace: InstallationOption = "shunter-system",
    assignments: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Set a value (see docs/values.md); repeatable.")
    ] = None,
    files: Annotated[
        list[Path] | None, typer.Option("--values", help="YAML file with values; repeatable, the last one wins.")
    ] = None,
    dry_run: DryRunOption = False,
    form: Annotated[
        ObjectForm | None,
        typer.Option("-o", "--output", help="With --dry-run: print the objects as yaml or json, without a cluster."),
    ] = None,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Wait until the webhooks of the operator respond.")] = True,
    timeout: Annotated[float, typer.Option(help="Maximum seconds to wait.")] = 180.0,
) -> None:
    """Install the operator on a cluster, or upgrade it. After a failure, run it again to continue."""
    chosen = values.checked(values.merged([*map(read_values, files or ()), values.parsed(assignments or [])]))
    installation = installing.Installation(chosen, namespace=namespace, crds=packaged_crds())
    if form is not None:
        if not dry_run:
            raise InputError("-o prints objects and installs nothing.", "Add --dry-run.")
        print_objects(installation.objects(), form)
        return
    target = named_cluster(kubeconfig, context)

    async def run() -> None:
        async with target.client as client:
            await installing.install(client, installation, screen, dry_run=dry_run)
            if wait and not dry_run:
                await waiting.wait_until_ready(client, installation, screen, seconds=timeout)

    with Screen(dry_run=dry_run) as screen:
        asyncio.run(run())
    if dry_run:
        say("nothing was changed")
    elif wait:
        errors().print(f"the operator in namespace {namespace} is ready: {target.description}", soft_wrap=True)


def uninstall(
    kubeconfig: ClusterOption = None,
    context: ContextOption = "",
    namespace: InstallationOption = "shunter-system",
    crds: Annotated[bool, typer.Option("--crds", help="Also delete the CustomResourceDefinitions.")] = False,
    with_jobs: Annotated[bool, typer.Option("--with-jobs", help="With --crds: allow the deletion of all training jobs.")] = False,
    dry_run: DryRunOption = False,
) -> None:
    """Uninstall the operator. Jobs stay, and CustomResourceDefinitions too unless --crds is set."""
    target = named_cluster(kubeconfig, context)

    async def run() -> None:
        async with target.client as client:
            await removing.uninstall(client, screen, namespace=namespace, crds=crds, with_jobs=with_jobs, dry_run=dry_run)

    with Screen(dry_run=dry_run) as screen:
        asyncio.run(run())
    if dry_run:
        say("nothing was changed")


class Screen:
    """Prints a line for each object that is or would be changed; in a terminal with a progress bar."""

    def __init__(self, *, dry_run: bool) -> None:
        self._would = "would be " if dry_run else ""
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        self._unchanged = 0

    def __enter__(self) -> Screen:
        columns = (SpinnerColumn(), BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}", markup=False))
        self._bar = Progress(*columns, console=errors(), transient=True, disable=not errors().is_terminal)
        self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        assert self._bar is not None, "entered"
        self._bar.stop()
        if self._unchanged:
            output().print(f"{self._unchanged} unchanged")

    def begin(self, total: int) -> None:
        """Shows the bar for so many changes. Only while the screen is open (`with`)."""
        assert self._bar is not None, "entered"
        self._task = self._bar.add_task("", total=total)

    def doing(self, text: str) -> None:
        """Shows a text beside the bar; nothing before `begin`."""
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, description=text)

    def done(self, change: Change) -> None:
        """Prints the change on standard output; one that changes nothing is only counted."""
        if self._bar is not None and self._task is not None:
            self._bar.advance(self._task)
        if change.verb == "unchanged":
            self._unchanged += 1
            return
        details = f": {', '.join(change.details)}" if change.details else ""
        verb = (f"{self._would}{change.verb}", COLOURS[change.verb])
        output().print(Text.assemble(verb, f" {change.title}{details}"), soft_wrap=True)

    def note(self, text: str) -> None:
        """A line on standard error that begins with `note:`."""

        note(text)


def named_cluster(kubeconfig: Path | None, context: str) -> Target:
    """The cluster that the user named. Raises InputError if there is none, or it is an embedded one, which runs the operator."""
    target = connect(kubeconfig, context) if is_named(kubeconfig, context) else None
    if target is None:
        raise InputError("no cluster was named to install on.", "Use --kubeconfig or --context, or set KUBECONFIG.")
    if target.embedded is not None:
        raise InputError("an embedded cluster already runs the operator: nothing to install.")
    return target


def read_values(path: Path) -> Json:
    """The content of a values file. A duplicate key is an error, as for Helm."""
    try:
        content = load_yaml(path.read_bytes())
    except OSError as error:
        raise InputError(f"--values {path}: {error.strerror}.") from error
    except yaml.YAMLError as error:
        raise InputError(f"--values {path}: not YAML: {' '.join(str(error).split())}") from error
    if content is not None and not isinstance(content, dict):
        raise InputError(f"--values {path}: is not a mapping.", "Write, for example, `kinds: {TrainJob: false}`.")
    return content or {}
