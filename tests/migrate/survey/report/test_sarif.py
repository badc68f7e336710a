"""The SARIF form of a report."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema_rs

from shunter.migrate.conversion import suppression
from shunter.migrate.conversion.batch import Batch, converted
from shunter.migrate.findings import Finding, Place
from shunter.migrate.options import Options
from shunter.migrate.survey import report

SARIF = json.loads((Path(__file__).parent / "sarif-2.1.0.part.json").read_text())


def test_sarif_is_valid_and_points_at_lines(batch: Batch, faults: list[Finding]) -> None:
    log = json.loads(report.written("sarif", batch, faults))
    jsonschema_rs.validator_for(SARIF, validate_formats=True).validate(log)
    run = log["runs"][0]
    for result in run["results"]:
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
    last = run["results"][-1]["locations"][0]["physicalLocation"]
    assert last == {
        "artifactLocation": {"uri": "dir%20with%20space/migration.yaml"},
        "region": {"startLine": 4, "startColumn": 3},
    }
    suppressed = [result["suppressions"][0]["justification"] for result in run["results"] if "suppressions" in result]
    assert suppressed == ["it loops <by itself>"]


def test_sarif_levels_are_the_severities_of_findings_so_that_an_error_fails_a_code_scan(
    batch: Batch, faults: list[Finding]
) -> None:
    found = [*batch.findings, *faults]
    results = json.loads(report.written("sarif", batch, faults))["runs"][0]["results"]
    told = {(result["ruleId"], result["level"]) for result in results}
    names = {"error": "error", "warning": "warning", "info": "note"}
    assert told == {(finding.topic.id, names[finding.topic.severity]) for finding in found}
    assert {level for _, level in told} >= {"error", "warning"}


def test_fingerprints_stay_when_lines_move() -> None:
    def fingerprint(line: int) -> str:
        moved = Finding(suppression.UNUSED, "x", Place("a.yaml", line, 1), (), "It is unused.")
        log = json.loads(report.written("sarif", converted([], Options()), [moved]))
        return str(log["runs"][0]["results"][0]["partialFingerprints"]["shunter/v1"])

    assert fingerprint(3) == fingerprint(30)


def test_what_is_found_twice_has_two_fingerprints() -> None:
    twice = [Finding(suppression.UNUSED, "x", Place("a.yaml", line, 1), (), "It is unused.") for line in (3, 7)]
    log = json.loads(report.written("sarif", converted([], Options()), twice))
    assert len({result["partialFingerprints"]["shunter/v1"] for result in log["runs"][0]["results"]}) == 2
