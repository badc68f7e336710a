"""Jupyter notebooks: the Python of their cells, each line with the line of the file that it stands on."""

from __future__ import annotations

import json
from typing import Any

from shunter.migrate.scan import python_code
from shunter.migrate.scan.reference import Reference

_MAGIC = ("%", "!", "?")
"""First signs of lines that IPython reads, not Python."""


def references(text: str) -> list[Reference]:
    """What the code cells show, by the lines and columns of the file; of a text that is no notebook, nothing."""
    try:
        cells = json.loads(text).get("cells")
    except (ValueError, AttributeError, RecursionError):
        return []
    code = [line for cell in cells if _is_code(cell) for line in _lines(cell["source"])] if isinstance(cells, list) else []
    python = "\n".join("" if line.lstrip().startswith(_MAGIC) else line for line in code)
    places = _places(code, text.split("\n"))
    return [_moved(reference, code, places) for reference in python_code.references(python) if reference.line <= len(code)]


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
