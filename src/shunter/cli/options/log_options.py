"""Which part of a job's logs is shown: the options of `logs`, for every container alike."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Annotated, NamedTuple

import typer

from shunter.api.core import container_statuses
from shunter.api.formats.durations import seconds
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
    """The options as they were given."""

    tail: int = -1
    since: str = ""
    previous: bool = False
    timestamps: bool = False

    def part(self, *, follow: bool = False) -> LogPart:
        """What to ask for. InputError for options that cannot be meant."""
        if self.previous and follow:
            raise InputError("--previous is over and cannot be followed.", "Leave --follow or --previous out.")
        since = None
        if self.since:
            # Go's kubectl rounds up as well: half a second is not nothing.
            since = math.ceil(seconds(self.since))
            if since < 1:
                raise InputError(f"--since {self.since} is not a positive duration.", "Write it like 10s, 5m or 1h30m.")
        return LogPart(
            previous=self.previous,
            timestamps=self.timestamps,
            tail_lines=None if self.tail < 0 else self.tail,
            since_seconds=since,
        )


def attempts(pods: Iterable[Json]) -> frozenset[tuple[str, str, int]]:
    """Every run of a container that has started: uid of the pod, name, and how often it was restarted before."""
    return frozenset(
        (pod["metadata"]["uid"], status["name"], status.get("restartCount", 0))
        for pod in pods
        for status in container_statuses(pod)
        if {"running", "terminated"} & set(status.get("state") or ())
    )
