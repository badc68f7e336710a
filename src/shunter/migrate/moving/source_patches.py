"""Patches for jobs that another object or tool manages: a file that describes what to change there. Pure."""

from __future__ import annotations

from typing import NamedTuple

from shunter.migrate.conversion.emit.job import SEPARATOR, plain_text
from shunter.migrate.conversion.one_job import Conversion
from shunter.migrate.conversion.rules.owners import LOOKED_AFTER, MADE_BY_ANOTHER
from shunter.migrate.moving.plan import Item
from shunter.operator.overview import is_suspended


class SourcePatch(NamedTuple):
    """A file's name and text: YAML, below comments that describe what to do with it."""

    file: str
    text: str


def source_patch(item: Item, conversion: Conversion) -> SourcePatch:
    """The file for a job with an owner: the objects that replace it, below the instructions."""
    about_owner = [found for found in conversion.findings if found.topic in (MADE_BY_ANOTHER, LOOKED_AFTER)]
    head = [f"# {item.title} belongs to {item.owner}.", *(f"# {finding.advice}" for finding in about_owner)]
    head += ["# The following takes its place:", *(f"#   {decision}" for decision in item.decisions)]
    job = conversion.train_job
    if not is_suspended(conversion.source.value):
        # A TrainJob is created suspended only in this cluster.
        job = {**job, "spec": {field: value for field, value in job["spec"].items() if field != "suspend"}}
    documents = [obj for obj in (conversion.runtime, job) if obj is not None]
    body = "".join(SEPARATOR + plain_text(obj) for obj in documents)
    return SourcePatch(f"{item.namespace}-{item.kind.lower()}-{item.name}.yaml", "\n".join(head) + "\n" + body)
