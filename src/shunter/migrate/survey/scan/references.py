"""What one text says of v1 and of the network: by the readers that fit its name."""

from __future__ import annotations

import re

from shunter.jobs.masking import masked
from shunter.migrate.findings import Finding, Place
from shunter.migrate.survey.scan import manifests, network, notebooks, python_code
from shunter.migrate.v1_texts import rules as text
from shunter.migrate.v1_texts.reference import Reference

_OBJECTS = (".yaml", ".yml", ".json")
_PYTHON = (".py", ".pyi")
_LINES = re.compile(r"^\s*(?:annotations: \{)?migrate\.shunter\.dev/|^# .* \(.*\) is not converted:$")


def findings_of(name: str, content: str) -> list[Finding]:
    """What one file says of v1 and of the network, by line and column."""
    content = content.removeprefix("\ufeff")
    told: list[Reference] = []
    jobs: list[range] = []
    if name.endswith(_PYTHON):
        told = list(python_code.references(content))
    elif name.endswith(".ipynb"):
        told = notebooks.references(content)
    elif name.endswith(_OBJECTS):
        found = manifests.references(content)
        told, jobs = found.references, found.jobs
    told += text.references(content, list(told), skipped=[*jobs, *_own_lines(content)])
    told += network.references(content)
    told.sort(key=lambda reference: (reference.line, reference.column, reference.topic.id))
    return [_finding(name, reference) for reference in told]


def _finding(name: str, reference: Reference) -> Finding:
    """Without credentials: what is told of a repository stands in logs and pages that more people read."""
    place = Place(name, reference.line, reference.column)
    return Finding(reference.topic, name, place, (), masked(reference.message, ()), masked(reference.remedy, ()))


def _own_lines(text: str) -> list[range]:
    """The lines, from 1, that conversion wrote about where a result comes from and why there is none."""
    return [range(number, number + 1) for number, line in enumerate(text.split("\n"), 1) if _LINES.search(line)]
