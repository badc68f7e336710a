"""The Markdown form of a report."""

from __future__ import annotations

import re

import pytest

from report_contents import job
from shunter.migrate.conversion.batch import Batch, converted
from shunter.migrate.findings import Finding
from shunter.migrate.options import Options
from shunter.migrate.survey import report
from shunter.migrate.survey.report import markdown


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
