"""Programs that name the training container as v1 does, to find its log: in v2 it is called `node`."""

from __future__ import annotations

import re

from shunter.api.trainer.runtime import NODE
from shunter.migrate.conversion.draft import Draft
from shunter.migrate.conversion.rules.programs.texts import all_programs, matches
from shunter.migrate.findings import Topic

NAMED = Topic(
    id="HOST021",
    title="a program names the training container as in v1",
    severity="warning",
    change="semantic-change",
    grade="D",
    explanation=(
        "The path of a container's log and the labels that log collectors give it hold the container's name. The container that "
        "trains is called `node` in v2, so a program that looks for v1's name finds no log, and says nothing."
    ),
    remedy="Look for node where the program looked for the container of v1.",
    explains=("none",),
    limits_proof=True,
)


def apply(draft: Draft) -> None:
    """Tells of each text once."""
    name = re.escape(draft.job_kind.container)
    pattern = re.compile(
        rf"/{name}/[\w*?\[\]]+\.log\b|_{name}-[\w*?\[\]]*\.log\b|\bcontainer(?:_name|Name)?[\"']?\s*(?:=~?|:)\s*[\"']?{name}\b"
    )
    for programs in all_programs(draft):
        if programs.group.container_names.get(draft.job_kind.container) != NODE:
            continue
        for found in matches(draft, programs, pattern):
            says = f"{found.line} names {draft.job_kind.container}, which is called {NODE} in v2."
            draft.report(NAMED, found.path, says, offset=found.offset)
