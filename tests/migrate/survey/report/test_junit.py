"""The JUnit form of a report."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

from report_contents import job
from shunter.migrate.conversion.batch import Batch, converted
from shunter.migrate.findings import Finding
from shunter.migrate.options import Options
from shunter.migrate.survey import report


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
