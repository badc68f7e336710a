"""Findings as files for people and programs: one content (`contents`), and a module for each form.

A form is `written(contents) -> str`: deterministic (no time, no machine, input order), and complete in itself.

contents.py       what all forms say: objects, findings, figures, and which of them block
json.py           for programs; sarif.py: for code hosts, with rules, levels and lines; junit.py: for CI, a test case an object
markdown.py, html.py    for people; summary.py: the figures at their top
page.py           HTML in which only texts are escaped

Tests: tests/migrate/survey/report, a form in a file of its name; all of them, and json.py, in test_report.py there; page.py and
summary.py in test_html.py.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path

from shunter.errors import InputError
from shunter.migrate.conversion.batch import Batch
from shunter.migrate.findings import Finding
from shunter.migrate.survey.report import html, json, junit, markdown, sarif
from shunter.migrate.survey.report.contents import Contents, of_batch

FORMS: Mapping[str, Callable[[Contents], str]] = {
    "json": json.written,
    "md": markdown.written,
    "html": html.written,
    "sarif": sarif.written,
    "junit": junit.written,
}


def written(form: str, batch: Batch, faults: Iterable[Finding] = ()) -> str:
    """The report about a batch in a form of `FORMS`; `faults` are findings about the input that belong to no job."""
    return FORMS[form](of_batch(batch, faults))


def requested(texts: Iterable[str], forms: Collection[str] = tuple(FORMS)) -> list[tuple[str, Path]]:
    """The forms and paths that `--report FORM=PATH` requests. InputError for an invalid value."""
    reports = []
    for text in texts:
        form, equals, path = text.partition("=")
        if form not in forms or not equals or not path:
            raise InputError(f"--report {text}: expected FORM=PATH.", f"FORM is one of {', '.join(forms)}.")
        reports.append((form, Path(path)))
    return reports
