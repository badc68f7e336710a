"""Words that say why a job does not train."""

from __future__ import annotations

from pathlib import Path

from shunter.operator.causes import WORDS
from shunter.operator.causes.blocked_pod import ORDER


def test_every_word_has_a_meaning_and_a_line_in_the_docs() -> None:
    page = (Path(__file__).parents[3] / "docs/causes.md").read_text()
    assert set(ORDER) <= set(WORDS)
    for each, meaning in WORDS.items():
        assert f"| `{each}` | {meaning} |" in page
