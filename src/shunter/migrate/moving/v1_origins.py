"""Whether the v1 job that a TrainJob was created from still exists, as the same training. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

from shunter.api.meta import Json
from shunter.migrate.conversion.cleaning import digest, resumed, suspended
from shunter.migrate.moving.journal import Record
from shunter.migrate.moving.plan import Item

Origin = Literal["there", "gone", "another"]
"""
there     the v1 job exists
gone      no job has its name
another   the job with its name is another training
"""


def origin_of(item: Item | None, job: Json | None, records: Iterable[Record]) -> Origin:
    """Whether the v1 job still exists. `records` are those of the v1 job. A job recreated from the same manifest is the same
    training; if the job was removed from the plan (`item` is None), only its name is compared."""
    if job is None:
        return "gone"
    if item is None or is_planned_for(item, job, records) or item.sha256 in digests_with_any_suspend(job):
        return "there"
    return "another"


def is_planned_for(item: Item, job: Json, records: Iterable[Record]) -> bool:
    """Whether the job is the object that was planned, or the one that a rollback recreated."""
    return item.uid in ("", job["metadata"]["uid"]) or job["metadata"]["uid"] in recreated_uids(records)


def recreated_uids(records: Iterable[Record]) -> set[str]:
    """The uids of objects that a rollback recreated."""
    return {record.uid for record in records if record.verb == "delete" and record.phase == "undone" and record.after}


def digests_with_any_suspend(job: Json) -> Iterator[str]:
    """The digests of the job as it is, suspended, resumed, and without runPolicy.suspend, or an empty runPolicy: all are the
    same training."""
    yield digest(job)
    yield digest(suspended(job))
    yield digest(resumed(job))
    spec = resumed(job)["spec"]
    policy = {key: value for key, value in spec.pop("runPolicy").items() if key != "suspend"}
    yield digest({**job, "spec": {**spec, "runPolicy": policy}})
    if not policy:
        yield digest({**job, "spec": spec})
