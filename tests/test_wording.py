"""Words of the repository: no citation of a text that is not in it."""

from __future__ import annotations

import io
import re
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ONE_ID = r"(?:NX\d{1,2}|9-S\d{1,2}|[ABDEGIMNORVWX]\d{1,2}|[HKST][1-9])"
CITED = re.compile(rf"\({ONE_ID}(?:(?:, |; |-){ONE_ID})*\)|\bNX\d{{1,2}}\b|\b9-S\d{{1,2}}\b")
"""Handles of a list of requirements: `(E1)`, `(W1-W4, W8)`. Neither findings (`POD007`), nor causes of doctor (`T05`), nor
profiles (`P1`) look like this."""


def _files(*endings: str) -> list[Path]:
    """The files of the repository with such names."""
    rooms = ("src", "tests", "docs", "bench", "conformance", "scripts", "examples", "deploy")
    found = [path for room in rooms for path in (ROOT / room).rglob("*") if path.name.endswith(endings) and path.is_file()]
    return [*ROOT.glob("*.md"), *found]


def _prose(path: Path, text: str) -> list[str]:
    """The comments and strings of Python, the comments of YAML, all lines of Markdown."""
    if path.suffix == ".py":
        tokens = tokenize.generate_tokens(io.StringIO(text).readline)
        return [token.string for token in tokens if token.type in (tokenize.COMMENT, tokenize.STRING)]
    lines = text.splitlines()
    return lines if path.suffix == ".md" else [line for line in lines if line.lstrip().startswith(("#", "reason:"))]


def test_no_text_cites_an_id_that_only_a_document_outside_the_repository_explains() -> None:
    found = []
    for path in _files(".py", ".md", ".yaml"):
        text = path.read_text(encoding="utf-8")
        if path != Path(__file__) and CITED.search(text):
            found += [f"{path.relative_to(ROOT)}: {part[:120]}" for part in _prose(path, text) if CITED.search(part)]
    assert found == []


@pytest.mark.parametrize("text", ["as upstream (E1).", "(W1-W4, W8)", "refused (9-S23)", "blocked (NX24)", "(T9)"])
def test_a_citation_is_recognized(text: str) -> None:
    assert CITED.search(text)


@pytest.mark.parametrize(
    "text", ["(POD007)", "(T05)", "(T00, T15)", "profile (P1)", "(A100)", "(H100)", "(v1)", "(1.36)", "(A3 Ultra, A4)"]
)
def test_ids_of_the_product_and_names_of_hardware_are_no_citations(text: str) -> None:
    assert not CITED.search(text)
