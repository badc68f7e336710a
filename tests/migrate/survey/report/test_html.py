"""The HTML form of a report."""

from __future__ import annotations

from html.parser import HTMLParser

from shunter.migrate.conversion.batch import Batch
from shunter.migrate.findings import Finding
from shunter.migrate.survey import report

VOID_TAGS = {"meta"}


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
