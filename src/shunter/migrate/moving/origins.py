"""The v1 job that a TrainJob was made of: whether it is there, as the training that it was. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

from shunter.api.meta import Json
from shunter.migrate.conversion.cleaning import digest, resumed, suspended
from shunter.migrate.moving.journal import Record
from shunter.migrate.moving.plan import Item

Origin = Literal["there", "gone", "another"]
"""
there     the training exists by its v1 job
gone      no job has its name
another   a job has its name that is another training
"""


def origin_of(item: Item | None, job: Json | None, records: Iterable[Record]) -> Origin:
    """`records` are those of the v1 job. A job that somebody made again from the same manifest is the same training; of one that
    does not stand in the plan any more nobody knows, and its name has to do."""
    if job is None:
        return "gone"
    if item is None or is_planned_for(item, job, records) or item.sha256 in digests_by_suspension(job):
        return "there"
    return "another"


def is_planned_for(item: Item, job: Json, records: Iterable[Record]) -> bool:
    """Whether the job is the very object of the plan, or the one that a rollback made in its place."""
    return item.uid in ("", job["metadata"]["uid"]) or job["metadata"]["uid"] in brought_back(records)


def brought_back(records: Iterable[Record]) -> set[str]:
    """The uids of objects that a rollback made again."""
    return {record.uid for record in records if record.verb == "delete" and record.phase == "undone" and record.after}


def digests_by_suspension(job: Json) -> Iterator[str]:
    """What the job would be if nobody had suspended or resumed it: that makes no other training of it."""
    yield digest(job)
    yield digest(suspended(job))
    yield digest(resumed(job))
    spec = resumed(job)["spec"]
    policy = {key: value for key, value in spec.pop("runPolicy").items() if key != "suspend"}
    yield digest({**job, "spec": {**spec, **({"runPolicy": policy} if policy else {})}})
