"""Findings for which a trial is not started."""

from __future__ import annotations

from collections.abc import Iterable

from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.findings import Finding, Topic
from shunter.migrate.moving.runs.outputs import Output

SHARED_OUTPUT = Topic(
    id="RUN001",
    title="a trial would write to the output location of its original",
    severity="error",
    change="manual",
    grade="E",
    explanation=(
        "The trial and the original would write to the same volume, host directory, URL or tracker run: they would overwrite "
        "each other's checkpoints and logs, and the trial might resume from the original's checkpoint instead of training."
    ),
    remedy=(
        "Set a separate location for the trial (--env NAME=VALUE, --arg FLAG=VALUE, --in-namespace), mount volumes read-only "
        "that are only read, or allow it with --allow-shared-output."
    ),
    acceptable=True,
)
NO_ROOM = Topic(
    id="RUN002",
    title="not enough room for a trial",
    severity="error",
    change="manual",
    grade="E",
    explanation=(
        "An object with the trial's name already exists, or a quota or the nodes have too little left to run the trial beside "
        "the current workloads. It would wait, and take resources that others wait for."
    ),
    remedy=(
        "Wait, remove an earlier trial (--replace), make it smaller (--nodes), or run it elsewhere (--in-namespace, --suffix, "
        "--prefix)."
    ),
)


def shared_output(source: SourceObject, outputs: Iterable[Output], *, allowed: bool) -> list[Finding]:
    """One finding for each output location that trial and original share."""
    suppressed = "suppressed by --allow-shared-output" if allowed else ""
    return [
        Finding(
            SHARED_OUTPUT, source.title, source.place(), (), f"The trial would also write to {output}.", suppressed=suppressed
        )
        for output in outputs
    ]


def no_room(source: SourceObject, obstacles: Iterable[str]) -> list[Finding]:
    """One finding for each obstacle, a sentence without its full stop."""
    return [
        Finding(NO_ROOM, source.title, source.place(), (), f"{obstacle[:1].upper()}{obstacle[1:]}.") for obstacle in obstacles
    ]
