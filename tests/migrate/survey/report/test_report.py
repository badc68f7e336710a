"""Reports: each form says all findings, is valid for its readers, and the same input gives the same bytes."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ElementTree
from datetime import date
from html.parser import HTMLParser
from pathlib import Path

import jsonschema_rs
import pytest

from shunter.api.meta import Json
from shunter.errors import InputError
from shunter.migrate.conversion import suppression
from shunter.migrate.conversion.batch import Batch, converted
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.findings import Finding, Place
from shunter.migrate.options import Options
from shunter.migrate.survey import report
from shunter.migrate.survey.report import markdown
from shunter.migrate.survey.report.contents import of_batch
from shunter.migrate.survey.report.json import schema

SARIF = json.loads((Path(__file__).parent / "sarif-2.1.0.part.json").read_text())
VOID_TAGS = {"meta"}


def job(name: str, **spec: object) -> SourceObject:
    template = {"spec": {"containers": [{"name": "pytorch", "image": "trainer:1", "command": ["torchrun", "train.py"]}]}}
    replicas = {"Master": {"restartPolicy": "Always", "template": template}}
    metadata = {"name": name, "namespace": "team-a"}
    value = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": metadata}
    return SourceObject({**value, "spec": {"pytorchReplicaSpecs": replicas, **spec}}, "cluster")


@pytest.fixture(scope="module")
def batch() -> Batch:
    hostile = job("<script>&", unknown={"]]>\x1b | `": "\"'<>&"})
    unreadable = job("broken", runPolicy="none")
    made = converted([job("bert"), hostile, unreadable], Options())
    known = "suppressions:\n- {id: RESTART001, name: bert, reason: it loops <by itself>}"
    return suppression.applied(made, suppression.parsed(known, "migration.yaml"), date(2026, 11, 21)).batch


@pytest.fixture(scope="module")
def faults() -> list[Finding]:
    return [Finding(suppression.UNUSED, "migration.yaml 4", Place("dir with space/migration.yaml", 4, 3), (), "It is unused.")]


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


def test_junit_fails_the_cases_that_are_blocked(batch: Batch, faults: list[Finding]) -> None:
    suite = ElementTree.fromstring(report.written("junit", batch, faults)).find("testsuite")
    assert suite is not None
    failed = [case.get("name") for case in suite.iter("testcase") if case.find("failure") is not None]
    assert failed == ["PyTorchJob team-a/<script>&", "PyTorchJob team-a/broken"]
    assert (suite.get("tests"), suite.get("failures")) == ("4", "2")


def test_junit_is_xml_whatever_names_hold() -> None:
    made = converted([job("a\x1b\ufffe\r\n'\"")], Options())
    suite = ElementTree.fromstring(report.written("junit", made))
    assert [case.get("name") for case in suite.iter("testcase")] == ["PyTorchJob team-a/a\ufffd\ufffd\ufffd\n'\""]


def test_html_is_balanced_and_holds_no_markup_of_the_input(batch: Batch, faults: list[Finding]) -> None:
    text = report.written("html", batch, faults)
    tags = _Tags()
    tags.feed(text)
    assert tags.open == []
    assert "script" not in tags.seen
    assert "PyTorchJob team-a/&lt;script&gt;&amp;" in text
    assert "http" not in text.replace("https://json-schema.org", "")


class _Tags(HTMLParser):
    """Which tags there are, and which are never closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.seen.add(tag)
        if tag not in VOID_TAGS:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_markdown_cells_and_lists_hold_no_markup_of_the_input(batch: Batch, faults: list[Finding]) -> None:
    text = report.written("md", batch, faults)
    assert "## PyTorchJob team-a/\\<script\\>&" in text
    assert "*Suppressed: it loops \\<by itself\\>*" in text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("spec.a", "`spec.a`"),
        ("a` <img src=x onerror=alert(1)> `b", "`` a` <img src=x onerror=alert(1)> `b ``"),
        ("``", "``` `` ```"),
        ("a\n\n<img src=x>", "`a <img src=x>`"),
    ],
    ids=["plain", "a backtick", "only backticks", "an empty line"],
)
def test_a_field_stays_within_its_fence(text: str, shown: str) -> None:
    assert markdown.code(text) == shown


def test_no_field_of_the_input_ends_its_fence() -> None:
    made = converted([job("a", **{"x`<img src=y onerror=alert(1)>": 1})], Options())
    (line,) = [line for line in report.written("md", made).splitlines() if "onerror" in line and "FIELD001" in line]
    fenced = re.search(r"(?<!`)``(?!`) (.*?) (?<!`)``(?!`)", line)
    assert fenced is not None
    assert "<img src=y onerror=alert(1)>" in fenced[1]
    assert "<img" not in line.replace(fenced[0], "").replace("\\<", "")


def test_contents_count_fields(batch: Batch) -> None:
    bert, hostile, broken = of_batch(batch).items
    assert bert.carried
    assert hostile.reported == 1
    assert (broken.outcome, broken.profile, broken.carried) == ("unreadable", "", 0)


@pytest.mark.parametrize("text", ["pdf=a.pdf", "json", "json=", "=a"])
def test_what_names_no_form_and_path_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="expected FORM=PATH"):
        report.requested([text])


def test_forms_and_paths_are_told_apart_at_the_first_equals_sign() -> None:
    assert report.requested(["json=a=b.json", "md=c.md"]) == [("json", Path("a=b.json")), ("md", Path("c.md"))]
