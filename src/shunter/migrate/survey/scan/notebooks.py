"""Jupyter notebooks: scans the Python in their cells; findings have the lines of the file."""

from __future__ import annotations

import json
import re
from typing import Any

from shunter.migrate.survey.scan import python_code
from shunter.migrate.v1_texts.reference import Reference

_MAGIC = ("%", "!", "?")
"""First characters of lines for IPython."""
_ASSIGNED = re.compile(r"[\w., ]+= *[!%]")
_OTHER_LANGUAGE = "%%"
"""The start of a cell that may be in another language: `%%bash`."""


def references(text: str) -> list[Reference]:
    """The references in code cells, with lines and columns of the file, and the cells that are not valid Python; none if the text
    is not a notebook."""
    try:
        cells = json.loads(text).get("cells")
    except (ValueError, AttributeError, RecursionError):
        return []
    sources = [_lines(cell["source"]) for cell in cells if _is_code(cell)] if isinstance(cells, list) else []
    code = [line for source in sources for line in source]
    found: list[Reference] = []
    python: list[str] = []
    for source in sources:
        lines, tree = source, python_code.parsed("\n".join(source))
        if isinstance(tree, Reference):
            lines = [_without_magic(line) for line in source]
            tree = python_code.parsed("\n".join(lines))
        if isinstance(tree, Reference):
            lines = [""] * len(source)
            if not source[0].startswith(_OTHER_LANGUAGE):
                found.append(tree._replace(line=len(python) + min(tree.line, len(source))))
        python += lines
    found += python_code.references("\n".join(python))
    places = _places(code, text.split("\n"))
    return [_moved(reference, code, places) for reference in found]


def _without_magic(line: str) -> str:
    """The line; `pass` instead of an IPython statement, such as `!ls`, `files = !ls` and `train?`."""
    stripped = line.lstrip()
    is_magic = stripped.startswith(_MAGIC) or _ASSIGNED.match(stripped) or stripped.rstrip().endswith("?")
    return f"{line[: len(line) - len(stripped)]}pass" if is_magic else line


def _is_code(cell: Any) -> bool:
    return isinstance(cell, dict) and cell.get("cell_type") == "code" and isinstance(cell.get("source"), str | list)


def _lines(source: str | list[Any]) -> list[str]:
    return ("".join(map(str, source)) if isinstance(source, list) else source).split("\n")


def _places(code: list[str], file: list[str]) -> list[tuple[int, int]]:
    """The line and offset in the file of each line of code; they are in the same order, as JSON strings."""
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
