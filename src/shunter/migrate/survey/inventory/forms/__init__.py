"""The inventory as files: `written(fleet) -> str`, the same bytes for the same fleet.

csv.py         a line a job, for spreadsheets
json.py        for programs
markdown.py    figures, then a table of the jobs
html.py        one page

Tests: tests/migrate/survey/inventory/test_fleet.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from shunter.migrate.survey.inventory.fleet import Fleet
from shunter.migrate.survey.inventory.forms import csv, html, json, markdown

FORMS: Mapping[str, Callable[[Fleet], str]] = {
    "csv": csv.written,
    "json": json.written,
    "md": markdown.written,
    "html": html.written,
}
