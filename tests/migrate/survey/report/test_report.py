"""Reports: each form says all findings, is valid for its readers, and the same input gives the same bytes."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema_rs
import pytest

from shunter.api.meta import Json
from shunter.errors import InputError
from shunter.migrate.conversion.batch import Batch
from shunter.migrate.findings import Finding
from shunter.migrate.survey import report
from shunter.migrate.survey.report.json import schema


@pytest.mark.parametrize("form", report.FORMS)
def test_every_finding_is_told(form: str, batch: Batch, faults: list[Finding]) -> None:
    text = report.written(form, batch, faults)
    for finding in [*batch.findings, *faults]:
        assert finding.topic.id in text
    assert "it loops " in text


@pytest.mark.parametrize("form", report.FORMS)
def test_the_same_batch_gives_the_same_bytes(form: str, batch: Batch, faults: list[Finding]) -> None:
    assert report.written(form, batch, faults) == report.written(form, batch, faults)


def test_json_is_as_its_schema_says(batch: Batch, faults: list[Finding]) -> None:
    written = json.loads(report.written("json", batch, faults))
    jsonschema_rs.validator_for(schema()).validate(written)
    assert written["schema"] == "shunter.migrate.report/v1"
    standing = [told["severity"] for item in written["items"] for told in item["findings"] if not told["suppressed"]]
    assert written["summary"] == {
        "objects": 3, "converted": 1, "blocked": 1, "unreadable": 1, "suppressed": 1,
        "errors": standing.count("error"), "warnings": standing.count("warning"), "infos": standing.count("info"),
        "effort": sum(told["effort"] for told in _once(written)),
    }  # fmt: skip


def _once(written: Json) -> list[Json]:
    """One standing finding for each object and topic."""
    return list(
        {
            (item["title"], told["id"]): told for item in written["items"] for told in item["findings"] if not told["suppressed"]
        }.values()
    )


@pytest.mark.parametrize("text", ["pdf=a.pdf", "json", "json=", "=a"])
def test_what_names_no_form_and_path_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="expected FORM=PATH"):
        report.requested([text])


def test_forms_and_paths_are_told_apart_at_the_first_equals_sign() -> None:
    assert report.requested(["json=a=b.json", "md=c.md"]) == [("json", Path("a=b.json")), ("md", Path("c.md"))]
