"""docs/sizing.md and docs/sizing-accuracy.md: their tables are made of the data, their commands are those of the tests."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from shunter.sizing import SizeOptions, size

DOCS = Path(__file__).parents[2] / "docs"
ROWS = yaml.load(Path(__file__).with_name("seed_rows.yaml").read_text(), yaml.CSafeLoader)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['model']} on {row['nodes']} {row['machine']} {row['options']}")
def test_the_usual_table_is_answered_row_by_row(row: dict[str, Any]) -> None:
    found = size(row["model"], SizeOptions(nodes=row["nodes"], **row["options"]), on=row["machine"])
    assert [option.verdict for option in found.choices] == [row["verdict"]]


def test_the_python_of_the_page_works() -> None:
    result = size("Llama-3.1-8B", SizeOptions(seq=4096), on="p5.48xlarge")
    assert result.choices[0].verdict == "fits"
    assert set(result.needs.memory.terms()) == {"states", "logits", "unsharded", "activations", "recomputation"}


@pytest.mark.parametrize(("page", "count"), [("sizing.md", 6), ("sizing-accuracy.md", 3)])
def test_every_made_block_of_the_pages_is_full(page: str, count: int) -> None:
    blocks = re.findall(r"<!-- made: ([a-z-]+) -->\n(.*?)<!-- end -->", (DOCS / page).read_text(), re.DOTALL)
    assert len(blocks) == count
    assert all(len(content) > 50 for _, content in blocks)
