"""The options of `logs` that select a part of each container's log."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, NamedTuple

import typer

from shunter.api.core import container_statuses
from shunter.api.formats.durations import option_seconds
from shunter.api.meta import Json
from shunter.errors import InputError
from shunter.kube.pods.log_reading import LogPart

TailOption = Annotated[
    int, typer.Option("--tail", min=-1, help="Number of lines to show from the end of each container log; -1 means all.")
]
SinceOption = Annotated[str, typer.Option("--since", help="Only lines newer than this, as in 10s, 5m or 1h30m.")]
PreviousOption = Annotated[bool, typer.Option("-p", "--previous", help="Show the previous instance of restarted containers.")]
TimestampsOption = Annotated[bool, typer.Option("--timestamps", help="Include timestamps.")]


class LogOptions(NamedTuple):
    """The values of the options."""

    tail: int = -1
    since: str = ""
    previous: bool = False
    timestamps: bool = False

    def part(self, *, follow: bool = False) -> LogPart:
        """The part of the logs to request. Raises InputError for options that exclude each other, and an invalid duration."""
        if self.previous and follow:
            raise InputError("--previous containers have ended and cannot be followed.", "Leave --follow or --previous out.")
        return LogPart(
            previous=self.previous,
            timestamps=self.timestamps,
            tail_lines=None if self.tail < 0 else self.tail,
            since_seconds=option_seconds("--since", self.since),
        )


def attempts(pods: Iterable[Json]) -> frozenset[tuple[str, str, int]]:
    """Every container run that has started: uid of the pod, name, and number of earlier restarts."""
    return frozenset(
        (pod["metadata"]["uid"], status["name"], status.get("restartCount", 0))
        for pod in pods
        for status in container_statuses(pod)
        if {"running", "terminated"} & set(status.get("state") or ())
    )
