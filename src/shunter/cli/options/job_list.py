"""Filter and order of `jobs`."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated, Any, NamedTuple

import typer

from shunter.cli.options.completion import kinds
from shunter.errors import InputError
from shunter.jobs.listing import Row, by_creation
from shunter.operator.overview import SHOWN_RESOURCES, Overview


class State(StrEnum):
    """The states of jobs, in the order of `--sort state`."""

    failed = "Failed"
    restarting = "Restarting"
    created = "Created"
    running = "Running"
    suspended = "Suspended"
    succeeded = "Succeeded"


class Order(StrEnum):
    """Values of `--sort`."""

    name = "name"
    kind = "kind"
    state = "state"
    ranks = "ranks"
    age = "age"
    ran = "ran"


class JobChoice(NamedTuple):
    """Which jobs are listed, and in which order."""

    state: Annotated[list[State], typer.Option("--state", case_sensitive=False, help="Only jobs in this state; repeatable.")] = []
    kind: Annotated[list[str], typer.Option("--kind", autocompletion=kinds, help="Only jobs of this kind; repeatable.")] = []
    sort: Annotated[
        Order | None,
        typer.Option(
            "--sort",
            help="name, kind, state (worst first), ranks (most first), age (newest first) or ran (longest first) "
            "[default: namespace, then age].",
        ),
    ] = None
    reverse: Annotated[bool, typer.Option("-r", "--reverse", help="Reverse the order.")] = False

    def chosen(self, rows: Iterable[Row]) -> list[Row]:
        """The chosen rows, in order. Raises InputError for an unknown kind."""
        kinds = {kind_named(kind) for kind in self.kind}
        found = [row for row in rows if (not self.state or row.job.state in self.state) and (not kinds or row.job.kind in kinds)]
        return sorted(found, key=self._key, reverse=self.reverse)

    def _key(self, row: Row) -> Any:
        job = row.job
        named = (job.namespace, job.name, job.kind)
        created = job.created.timestamp() if job.created else 0.0
        match self.sort:
            case None:
                return by_creation(job)
            case Order.name:
                return (job.name, named)
            case Order.kind:
                return (job.kind, named)
            case Order.state:
                return (list(State).index(State(job.state)), -created, named)
            case Order.ranks:
                return (-(row.wanted or 0), named)
            case Order.age:
                return (-created, named)
            case Order.ran:
                return (-ran_seconds(job), named)

    def empty_text(self, total: int, namespace: str) -> str:
        """The message if none of the `total` jobs of a namespace, or of all if that is empty, is listed."""
        if total == 1:
            return "the only job does not match --state or --kind"
        if total:
            return f"none of the {total} jobs matches --state and --kind"
        where = f" in namespace {namespace}" if namespace else ""
        return f"no jobs{where}; run one with: shunter run FILE"


def kind_named(text: str) -> str:
    """The kind for `PyTorchJob`, `pytorchjob` or `pytorchjobs`. Raises InputError for an unknown one."""
    for resource in SHOWN_RESOURCES:
        if text.lower() in (resource.kind.lower(), resource.plural):
            return resource.kind
    kinds = ", ".join(resource.kind for resource in SHOWN_RESOURCES)
    raise InputError(f"--kind: unknown job kind {text!r}.", f"There are {kinds}.")


def ran_seconds(job: Overview) -> float:
    """Seconds from the job's creation to its end; -1 if it has not ended, so that it comes last."""
    return -1.0 if job.ran is None else job.ran.total_seconds()
