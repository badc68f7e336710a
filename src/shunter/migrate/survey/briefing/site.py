"""All files of a report: `index.html` and `index.md`, a page for each job, the SDK's page, the references that a scan found."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePath

from shunter.migrate.survey.briefing import front_page, front_text, job_page, sdk_page
from shunter.migrate.survey.briefing.facts import Facts, Job
from shunter.migrate.survey.inventory import forms
from shunter.migrate.survey.report import html
from shunter.migrate.survey.report.contents import by_source, contents

_UNSAFE = re.compile(r"[^a-z0-9.-]+")


def files(facts: Facts) -> Iterator[tuple[PurePath, str]]:
    """Path and text of each file; the same for the same facts."""
    paths = page_paths(facts)
    yield PurePath("index.html"), front_page.html(facts, lambda job: paths[id(job)])
    yield PurePath("index.md"), front_text.markdown(facts)
    yield PurePath("sdk.html"), sdk_page.html()
    yield PurePath("inventory.csv"), forms.csv.written(facts.fleet)
    if facts.references:
        yield PurePath("references.html"), html.written(contents("scan", by_source(facts.references)))
    for job in facts.jobs:
        yield PurePath(paths[id(job)]), job_page.html(job, facts)


def page_paths(facts: Facts) -> dict[int, str]:
    """Where each job's page is, by the `id` of the job: `jobs/team-a-pytorchjob-bert.html`; those of one name are numbered."""
    paths: dict[int, str] = {}
    taken: set[str] = set()
    for job in facts.jobs:
        base = name = _name(job)
        number = 1
        while name in taken:
            number += 1
            name = f"{base}-{number}"
        taken.add(name)
        paths[id(job)] = f"jobs/{name}.html"
    return paths


def _name(job: Job) -> str:
    row = job.entry
    parts = (part for part in (row.namespace, row.kind, row.name) if part)
    return _UNSAFE.sub("-", "-".join(parts).lower()).strip("-.")[:120] or "job"
