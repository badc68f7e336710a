"""The totals of all rows: jobs by class, kind, namespace and owner, top blockers, effort and GPU-hours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Annotated, NamedTuple

import msgspec
from msgspec import Meta

from shunter.api.grouping import grouped_by
from shunter.migrate.catalogue import topics
from shunter.migrate.survey.inventory.classes import CLASSES, JobClass
from shunter.migrate.survey.inventory.row import Row


class Blocker(NamedTuple):
    """A topic that blocks jobs."""

    id: str
    title: str
    jobs: int


class Part(NamedTuple):
    """The jobs of one namespace, or of one owner."""

    name: str
    jobs: int
    gpu_hours: float
    effort: int


class Fleet(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """All jobs of the inventory, with totals."""

    jobs: int
    classes: Annotated[dict[str, int], Meta(description="Jobs by class, every class named.")]
    kinds: dict[str, int]
    releases: Annotated[dict[str, int], Meta(description="Jobs by the oldest Trainer that runs their results.")]
    effort: Annotated[int, Meta(description="Points of all jobs together.")]
    topics: Annotated[int, Meta(description="Different topics among them: the same piece of work comes again.")]
    gpus: Annotated[float, Meta(description="Devices that unfinished jobs ask for.")]
    gpu_hours: Annotated[float, Meta(description="Devices times hours run, of all jobs of the cluster.")]
    namespaces: tuple[Part, ...]
    owners: tuple[Part, ...]
    blockers: tuple[Blocker, ...]
    entries: tuple[Row, ...]

    def count(self, *wanted: JobClass) -> int:
        """The number of jobs of any of these classes."""
        return sum(self.classes[name] for name in wanted)


def fleet(entries: Iterable[Row]) -> Fleet:
    """The inventory: rows sorted by namespace, kind and name; totals by number, then by name."""
    rows = tuple(sorted(entries, key=lambda row: (row.namespace, row.kind, row.name, row.place)))
    classes = Counter(row.job_class for row in rows)
    blocking = Counter(id for row in rows for id in row.blockers)
    return Fleet(
        jobs=len(rows),
        classes={name: classes[name] for name in CLASSES},
        kinds=_counted(row.kind for row in rows),
        releases=_counted(row.release for row in rows if row.release),
        effort=sum(row.effort for row in rows),
        topics=len({id for row in rows if row.effort for id in row.topics}),
        gpus=sum(row.gpus for row in rows if row.job_class != "finished"),
        gpu_hours=sum(row.gpu_hours for row in rows),
        namespaces=_parts(rows, lambda row: row.namespace or "(none)"),
        owners=_parts([row for row in rows if row.owner], lambda row: row.owner),
        blockers=tuple(
            Blocker(id, topics()[id].title, jobs) for id, jobs in sorted(blocking.items(), key=lambda item: (-item[1], item[0]))
        ),
        entries=rows,
    )


def _counted(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items()))


def _parts(rows: Iterable[Row], name_of: Callable[[Row], str]) -> tuple[Part, ...]:
    by_name = grouped_by(rows, name_of)
    parts = [
        Part(name, len(some), sum(row.gpu_hours for row in some), sum(row.effort for row in some))
        for name, some in by_name.items()
    ]
    return tuple(sorted(parts, key=lambda part: (-part.jobs, part.name)))
