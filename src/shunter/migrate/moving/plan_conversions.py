"""Converts the jobs of a plan as they are now, and says which are refused. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from shunter.api.ownership import owner_of
from shunter.migrate.conversion.cleaning import digest
from shunter.migrate.conversion.input_context import context_of
from shunter.migrate.conversion.one_job import Conversion, convert
from shunter.migrate.conversion.reading import UnreadableJobError
from shunter.migrate.conversion.sharing import shared_by
from shunter.migrate.moving.gathering import Input
from shunter.migrate.moving.journal import Journal
from shunter.migrate.moving.plan import Item, Plan
from shunter.operator.causes.queue import queue_name


class Ready(NamedTuple):
    """The conversions of the jobs that can be applied, by title, and the reasons why the others cannot."""

    conversions: Mapping[str, Conversion]
    refused: Mapping[str, str]


def ready(plan: Plan, items: Sequence[Item], found: Input, journal: Journal, *, even_blocked: bool = False) -> Ready:
    """Converts these jobs, or gives the reason why nothing can be done. A job that was changed since the plan was
    made is refused; changes by the plan itself are known from the journal."""
    jobs = {source.title: source for source in found.jobs}
    input_context = context_of(found.jobs, found.others)
    conversions: dict[str, Conversion] = {}
    refused: dict[str, str] = {}
    for item in items:
        source = jobs.get(item.title)
        if source is None:
            refused[item.title] = "it no longer exists"
            continue
        if digest(source.value) not in {item.sha256, *journal.digests(item.kind, item.namespace, item.name)}:
            refused[item.title] = "it was changed after the plan was created; plan again"
            continue
        try:
            conversion = convert(source, plan.options_of(item), input_context)
        except UnreadableJobError as error:
            refused[item.title] = error.message
            continue
        name = conversion.train_job["metadata"]["name"]
        if item.action == "move" and (owner := owner_of(source.value)):
            refused[item.title] = f"it belongs to {owner}, which would start it again; change it there"
        elif item.action == "move" and (queue := queue_name(source.value)):
            refused[item.title] = f"Kueue (queue {queue}) decides when it runs, and would start it again; wait, or create"
        elif conversion.is_blocked and not even_blocked:
            blocking = sorted({finding.topic.id for finding in conversion.findings if finding.is_blocking})
            refused[item.title] = f"its conversion is blocked by {', '.join(blocking)}; suppress with options: {{accepted: [ID]}}"
        elif item.train_job not in ("", name) and not item.options:
            refused[item.title] = f"its TrainJob would be {name}, not {item.train_job}: names follow from options.suffix"
        else:
            conversions[item.title] = conversion
    return Ready(conversions, refused)


def sharing(plan: Plan, ready: Ready, found: Input) -> Ready:
    """The conversions with shared runtimes, as in `convert`. A later run uses the runtimes that an earlier one created."""
    known = [runtime.value for runtime in found.runtimes]
    conversions = shared_by([*ready.conversions.values()], plan.options, known)
    return ready._replace(conversions=dict(zip(ready.conversions, conversions, strict=True)))
