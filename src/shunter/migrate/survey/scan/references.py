"""All references to v1 and network settings in one text, found by the scanners for its file type."""

from __future__ import annotations

import re

from shunter.api.secrets.masking import masked
from shunter.migrate.findings import Finding, Place
from shunter.migrate.survey.scan import manifests, network, notebooks, python_code
from shunter.migrate.v1_texts import rules as text
from shunter.migrate.v1_texts.reference import Reference

_OBJECTS = (".yaml", ".yml", ".json")
_PYTHON = (".py", ".pyi")
_LINES = re.compile(r"^\s*(?:annotations: \{)?migrate\.shunter\.dev/|^# .* \(.*\) is not converted:$")


def findings_of(name: str, content: str) -> list[Finding]:
    """The findings in one file, by line and column."""
    content = content.removeprefix("\ufeff")
    references: list[Reference] = []
    jobs: list[range] = []
    if name.endswith(_PYTHON):
        references = list(python_code.references(content))
    elif name.endswith(".ipynb"):
        references = notebooks.references(content)
    elif name.endswith(_OBJECTS):
        found = manifests.references(content)
        references, jobs = found.references, found.jobs
    references += text.references(content, list(references), skipped=[*jobs, *_own_lines(content)])
    references += network.references(content)
    references.sort(key=lambda reference: (reference.line, reference.column, reference.topic.id))
    return [_finding(name, reference) for reference in references]


def _finding(name: str, reference: Reference) -> Finding:
    """A finding with credentials masked, because more people read findings than the repository."""
    place = Place(name, reference.line, reference.column)
    return Finding(reference.topic, name, place, (), masked(reference.message, ()), masked(reference.remedy, ()))


def _own_lines(text: str) -> list[range]:
    """The lines, from 1, in which a conversion recorded the origin of a result, or why there is none."""
    return [range(number, number + 1) for number, line in enumerate(text.split("\n"), 1) if _LINES.search(line)]
