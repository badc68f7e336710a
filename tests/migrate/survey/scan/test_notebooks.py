"""Python in the cells of notebooks: what is found, and in which lines of the file."""

from __future__ import annotations

import json
from typing import Any

import pytest

from shunter.migrate.survey.scan.notebooks import references

IMPORT = "from kubeflow.training import TrainingClient\n"


def notebook(*cells: Any, **how: Any) -> str:
    made = [cell if isinstance(cell, dict) else {"cell_type": "code", "source": cell} for cell in cells]
    return json.dumps({"cells": made, "nbformat": 4}, **{"indent": 1, **how})


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        pytest.param("%pip install kubeflow-training\n" + IMPORT, "SCAN002", id="after a line magic"),
        pytest.param("%%time\n" + IMPORT, "SCAN002", id="under a magic that runs the cell"),
        pytest.param("!ls\n" + IMPORT, "SCAN002", id="after a shell command"),
        pytest.param("TrainingClient?\n" + IMPORT, "SCAN002", id="after a question"),
        pytest.param("if x:\n    !ls\n" + IMPORT, "SCAN002", id="after an indented shell command"),
        pytest.param("x = !ls\n" + IMPORT, "SCAN002", id="after the output of a shell command"),
        pytest.param("x = %env A\n" + IMPORT, "SCAN002", id="after the value of a magic"),
        pytest.param("s = '\u00e9\U0001f600'\n" + IMPORT, "SCAN002", id="after text beyond ASCII"),
        pytest.param(IMPORT.replace("\n", "\r\n"), "SCAN002", id="with lines of Windows"),
        pytest.param(IMPORT + "await x\n", "SCAN002", id="before an await outside of functions"),
    ],
)
@pytest.mark.parametrize("how", [{}, {"ensure_ascii": False}, {"indent": None}], ids=["escaped", "as it is", "in one line"])
def test_an_import_is_found_in_the_line_of_the_file_that_has_it(source: str, kind: str, how: dict[str, Any]) -> None:
    text = notebook(source, **how)
    (found,) = references(text)
    assert found.topic.id == kind
    line = text.splitlines()[found.line - 1]
    assert line[found.column - 1 :].startswith("TrainingClient")


def test_the_same_line_in_two_cells_is_found_in_both() -> None:
    text = notebook(IMPORT, IMPORT)
    lines = [number for number, line in enumerate(text.splitlines(), 1) if "TrainingClient" in line]
    assert [found.line for found in references(text)] == lines
    assert len(lines) == 2


def test_a_cell_may_be_a_list_of_lines() -> None:
    text = notebook([IMPORT, "TrainingClient()"])
    assert [text.splitlines()[found.line - 1].strip()[:6] for found in references(text)] == ['"from ', '"Train']


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="an empty file"),
        pytest.param("{", id="no JSON"),
        pytest.param("[]", id="a list"),
        pytest.param('{"cells": null}', id="no cells"),
        pytest.param('{"cells": [1, null, {}]}', id="cells that are none"),
        pytest.param('{"cells": [{"cell_type": "code", "source": 5}]}', id="a source that is a number"),
        pytest.param('{"cells": [{"cell_type": "code", "source": ["import x\\n", 5]}]}', id="a line that is a number"),
        pytest.param(notebook({"cell_type": "markdown", "source": IMPORT}), id="prose"),
        pytest.param(
            notebook("%%bash\nfor x in 1; do python -c 'import kubeflow.training'; done"), id="a cell of another language"
        ),
    ],
)
def test_nothing_is_found_in_what_is_no_python_of_a_notebook(text: str) -> None:
    assert references(text) == []


def test_a_cell_that_cannot_be_parsed_is_told_and_the_others_are_read() -> None:
    found = references(notebook("def f(:", IMPORT))
    assert len(found) == 2
    assert "SCAN002" in {one.topic.id for one in found}
