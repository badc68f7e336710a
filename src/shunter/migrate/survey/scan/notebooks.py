"""Jupyter notebooks: the Python of their cells, each line with the line of the file that it stands on."""

from __future__ import annotations

import json
from typing import Any

from shunter.migrate.survey.scan import python_code
from shunter.migrate.v1_texts.reference import Reference

_MAGIC = ("%", "!", "?")
"""First signs of lines that IPython reads, not Python."""
_OTHER_LANGUAGE = "%%"
"""How a cell begins of which something else than Python may be made: `%%bash`."""


def references(text: str) -> list[Reference]:
    """What the code cells show, by the lines and columns of the file, and which of them are no Python; of a text that is no
    notebook, nothing."""
    try:
        cells = json.loads(text).get("cells")
    except (ValueError, AttributeError, RecursionError):
        return []
    sources = [_lines(cell["source"]) for cell in cells if _is_code(cell)] if isinstance(cells, list) else []
    code = [line for source in sources for line in source]
    told: list[Reference] = []
    python: list[str] = []
    for source in sources:
        lines, tree = source, python_code.parsed("\n".join(source))
        if isinstance(tree, Reference):
            lines = [_without_magic(line) for line in source]
            tree = python_code.parsed("\n".join(lines))
        if isinstance(tree, Reference):
            lines = [""] * len(source)
            if not source[0].startswith(_OTHER_LANGUAGE):
                told.append(tree._replace(line=len(python) + min(tree.line, len(source))))
        python += lines
    told += python_code.references("\n".join(python))
    places = _places(code, text.split("\n"))
    return [_moved(reference, code, places) for reference in told]


def _without_magic(line: str) -> str:
    """A statement that does nothing in place of one that only IPython knows."""
    stripped = line.lstrip()
    return f"{line[: len(line) - len(stripped)]}pass" if stripped.startswith(_MAGIC) else line


def _is_code(cell: Any) -> bool:
    return isinstance(cell, dict) and cell.get("cell_type") == "code" and isinstance(cell.get("source"), str | list)


def _lines(source: str | list[Any]) -> list[str]:
    return ("".join(map(str, source)) if isinstance(source, list) else source).split("\n")


def _places(code: list[str], file: list[str]) -> list[tuple[int, int]]:
    """The line and the offset in it of each line of code: they stand in the file in their order, as JSON writes text."""
    places = []
    number, after = 0, 0
    for line in code:
        written = json.dumps(line, ensure_ascii=False)[1:-1], json.dumps(line)[1:-1]
        for at in range(number, len(file)):
            start = max((file[at].find(form, after if at == number else 0) for form in written), default=-1)
            if line.strip() and start >= 0:
                number, after = at, start + 1
                break
        places.append((number, max(after - 1, 0)))
    return places


def _moved(reference: Reference, code: list[str], places: list[tuple[int, int]]) -> Reference:
    line, start = places[reference.line - 1]
    before = json.dumps(code[reference.line - 1][: reference.column - 1], ensure_ascii=False)[1:-1]
    return reference._replace(line=line + 1, column=start + len(before) + 1)
