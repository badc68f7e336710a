"""All rows of an inventory together, and their forms."""

from __future__ import annotations

import csv
import io
import json

import jsonschema_rs
import pytest

from migrate.survey.inventory.rows import ALWAYS, TRIAL, job, row
from shunter.migrate.survey.inventory.fleet import Fleet, fleet
from shunter.migrate.survey.inventory.forms import FORMS
from shunter.migrate.survey.inventory.forms.json import schema


@pytest.fixture(scope="module")
def found() -> Fleet:
    rows = [
        row(job("a", gpus=1, state="Running")),
        row(job("=b", namespace="team-b", gpus=1, state="Succeeded")),
        row(job("<c>|", metadata=TRIAL)),
        row(ALWAYS),
    ]
    return fleet(rows)


def test_figures_of_a_fleet(found: Fleet) -> None:
    assert found.jobs == 4
    assert found.classes == {"finished": 1, "owned": 1, "blocked": 1, "complex": 0, "standard": 1, "simple": 0}
    assert found.kinds == {"PyTorchJob": 4}
    assert (found.gpus, found.gpu_hours) == (4, 4 * 2 + 4 * 1)
    assert [(part.name, part.jobs) for part in found.namespaces] == [("team-a", 3), ("team-b", 1)]
    assert [part.name for part in found.owners] == ["Trial team-a/tune-1"]
    assert [(blocker.id, blocker.jobs) for blocker in found.blockers if blocker.id == "RESTART001"] == [("RESTART001", 1)]
    assert found.count("standard", "blocked") == 2


def test_rows_are_in_order_whatever_order_they_came_in(found: Fleet) -> None:
    assert fleet(reversed(found.entries)) == found


@pytest.mark.parametrize("form", FORMS)
def test_a_form_says_every_job_and_is_the_same_again(found: Fleet, form: str) -> None:
    text = FORMS[form](found)
    assert text == FORMS[form](found)
    assert text.count("PyTorchJob") >= found.jobs


def test_csv_has_a_line_for_each_job_and_runs_no_formula(found: Fleet) -> None:
    rows = list(csv.DictReader(io.StringIO(FORMS["csv"](found))))
    assert [line["name"] for line in rows] == ["<c>|", "a", "bert", "'=b"]
    assert rows[1] | {"why": "", "topics": "", "rules": ""} == {
        "class": "standard", "kind": "PyTorchJob", "namespace": "team-a", "name": "a", "state": "Running", "effort": "0",
        "profile": "P2", "grade": rows[1]["grade"], "release": "2.0", "gpus": "4", "gpu_hours": "8.00", "owner": "", "inside": "",
        "blockers": "", "topics": "", "rules": "", "why": "", "place": "cluster",
    }  # fmt: skip


def test_json_is_as_its_schema_says(found: Fleet) -> None:
    written = json.loads(FORMS["json"](found))
    jsonschema_rs.validator_for(schema()).validate(written)
    assert written["schema"] == "shunter.migrate.inventory/v1"
    assert [line["class"] for line in written["entries"]] == ["owned", "standard", "blocked", "finished"]


def test_html_and_markdown_hold_no_markup_of_names(found: Fleet) -> None:
    assert "PyTorchJob team-a/&lt;c&gt;|" in FORMS["html"](found)
    assert "PyTorchJob team-a/\\<c\\>\\|" in FORMS["md"](found)
