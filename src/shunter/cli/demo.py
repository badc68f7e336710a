"""`demo`: runs three real distributed training jobs on a temporary cluster and prints a table of the results."""

from __future__ import annotations

import asyncio
import re
import shlex
import shutil
import signal
import tempfile
import time
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from shunter.cli.clusters import export_line
from shunter.cli.output.console import busy, errors, print_table, say
from shunter.cli.output.display import STATE_COLOURS, RecordingDisplay, display
from shunter.cli.output.following import followed
from shunter.cluster import lifecycle
from shunter.cluster.state_dir import StateDir
from shunter.cluster.target import Target
from shunter.errors import InputError
from shunter.jobs.following.outcome import Outcome
from shunter.kube import client, kubeconfig
from shunter.kube.manifests import Manifest, load
from shunter.launch.applying import apply_all

DEMO_JOBS = (
    ("v1/pytorch-simple.yaml",),
    ("training-script.yaml", "v1/pytorch-distributed-ddp.yaml"),
    ("training-script.yaml", "v2/trainjob-ddp.yaml"),
)
WORLD_SIZE = re.compile(r"^Rank (\d+)/(\d+) initialized")
SINGLE = re.compile(r"^Training completed successfully!")
"""The last line of the single-process example, whose world size is 1."""


def demo(
    examples: Annotated[Path, typer.Option(help="Directory with the example manifests.")] = Path("examples"),
    keep: Annotated[bool, typer.Option("--keep", help="Keep the cluster running.")] = False,
) -> None:
    """Start an embedded cluster, train three distributed jobs, show the results, stop everything."""
    groups = [[manifest for file in files for manifest in load(str(existing(examples / file)))] for files in DEMO_JOBS]
    state = StateDir(Path(tempfile.mkdtemp(prefix="shunter-demo-")))
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    rows: list[Row] = []
    succeeded = False
    try:
        with busy("starting an embedded cluster"):
            started = lifecycle.start(lifecycle.Options(state_dir=state.root))
        errors().print(f"embedded cluster up in {started.seconds:.1f} s: {started.record.server}")

        async def train() -> None:
            async with client.connect(kubeconfig.load(state.kubeconfig)) as api:
                for group in groups:
                    target = Target(api, state, started.record.server, is_default=True)
                    rows.extend(await trained(target, group))

        asyncio.run(train())
        print_table(table(rows))
        succeeded = all(row.is_good for row in rows)
    except KeyboardInterrupt:
        end_cluster(state)
        shutil.rmtree(state.root, ignore_errors=True)
        say("interrupted; the cluster is stopped and its directory removed")
        raise
    except BaseException:
        end_cluster(state)
        raise
    if not keep:
        end_cluster(state)
    finish(state, rows, succeeded=succeeded, keep=keep)


def end_cluster(state: StateDir) -> None:
    """Stops the embedded cluster with this state."""
    with busy("stopping the cluster"):
        lifecycle.stop(state)


def existing(path: Path) -> Path:
    """The path. Raises InputError if it does not exist."""
    if not path.exists():
        raise InputError(f"{path}: no such file.", "Run the demo from the project's directory, or name --examples.")
    return path


class Row:
    """One trained job, and what each of its ranks reported."""

    def __init__(self, outcome: Outcome, lines: dict[str, list[str]], seconds: float) -> None:
        self.job = outcome.job
        self.succeeded = outcome.succeeded
        self.seconds = seconds
        self.reported = reported_world_sizes(lines)

    @property
    def is_good(self) -> bool:
        """Succeeded, and every rank reported the requested world size."""
        return self.succeeded and self.reported == dict.fromkeys(range(self.job.ranks), self.job.ranks)

    @property
    def world_size(self) -> str:
        """What the ranks printed: `2`, or `1, 2` if they differ, or `none reported`."""
        sizes = sorted(set(self.reported.values()))
        return ", ".join(str(size) for size in sizes) or "none reported"


def reported_world_sizes(lines: dict[str, list[str]]) -> dict[int, int]:
    """Rank to world size, as printed by the training processes."""
    reported: dict[int, int] = {}
    for printed in lines.values():
        for line in printed:
            if match := WORLD_SIZE.match(line):
                reported[int(match[1])] = int(match[2])
            elif SINGLE.match(line):
                reported[0] = 1
    return reported


async def trained(target: Target, manifests: list[Manifest]) -> list[Row]:
    """Applies all, then follows the jobs one by one, each to its end. Seconds count from before the first was applied."""
    started = time.monotonic()
    rows = []
    for resource, job in await apply_all(target, manifests, replace=True, notify=say):
        screen = RecordingDisplay(display())
        rows.append(Row(await followed(target.client, resource, job, screen), screen.lines, time.monotonic() - started))
    return rows


def table(rows: list[Row]) -> Table:
    """A line for each job. `ranks` is how many of all reported a world size: `2 of 2`."""
    result = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("job", "kind", "state", "ranks", "world size", "seconds"):
        result.add_column(column, justify="right" if column in ("ranks", "world size", "seconds") else "left")
    for row in rows:
        colour = STATE_COLOURS.get(row.job.state, "default")
        ranks = f"{len(row.reported)} of {row.job.ranks}"
        result.add_row(row.job.name, row.job.kind, Text(row.job.state, style=colour), ranks, row.world_size, f"{row.seconds:.1f}")
    return result


def finish(state: StateDir, rows: list[Row], *, succeeded: bool, keep: bool) -> None:
    """Removes the demo's directory after a success; after a failure prints what failed and where the logs are, exit code 1."""
    for row in rows:
        if not row.is_good:
            errors().print(
                f"{row.job.kind} {row.job.name}: {row.job.state}; "
                f"{len(row.reported)} of {row.job.ranks} ranks reported a world size ({row.world_size})",
                style="red",
            )
    if keep:
        say(f"the cluster is still up; use it with: {export_line(state)}")
        say(f"see it in a browser with: shunter ui --kubeconfig {shlex.quote(str(state.kubeconfig))}")
    elif succeeded:
        shutil.rmtree(state.root, ignore_errors=True)
    if not succeeded:
        say(f"logs: {state.node}/pods and {state.logs}")
        raise typer.Exit(1)
