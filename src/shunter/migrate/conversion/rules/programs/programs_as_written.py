"""Programs that Python code holds as texts, with as many characters as the code writes them with: places in them are places of
the code."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from shunter.api.late_patterns import late_pattern
from shunter.migrate.conversion.commands.nested_programs import NestedProgram, nested_programs
from shunter.migrate.conversion.commands.python_code import Lines

_QUOTES = late_pattern(r"[A-Za-z]{0,2}(\"\"\"|\'\'\'|\"|\')")
_ESCAPED = late_pattern(r"(?:\\[nt\n\\'\"])+")
_INDENTED = "if 1:\n"
"""What makes Python of indented code."""


def between_quotes(code: str, start: int, end: int) -> tuple[str, int] | None:
    """What stands between the quotes of the text that stands there, and where that begins; None where no quotes begin."""
    quotes = _QUOTES.match(code, start, end)
    return (code[quotes.end() : end - len(quotes[1])], quotes.end()) if quotes else None


def programs_as_written(code: str, nodes: Sequence[ast.AST], lines: Lines) -> Iterator[NestedProgram]:
    """The programs of the code that `nodes` are the syntax tree of. Python code that is indented there gets a line before it, and
    then begins so much earlier."""
    texts = [node for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value]
    ends = dict(lines.span(node) for node in texts if hasattr(node, "lineno"))
    for language, _, start in nested_programs(code, nodes, lines):
        if start not in ends or (quoted := between_quotes(code, start, ends[start])) is None:
            continue
        text, begin = quoted
        if "r" not in code[start:begin].lower():
            text = _unescaped(text)
        if language == "python" and text.lstrip("\n")[:1] in {" ", "\t"}:
            text, begin = _INDENTED + text, begin - len(_INDENTED)
        yield NestedProgram(language, text, begin)


def _unescaped(text: str) -> str:
    """A text with as many characters as in its quotes, in which what was escaped stands for itself. The blanks stand before all
    that was escaped together, so that what is escaped in the text itself stays whole."""
    text = re.sub(r"\A\\\n", " \n", text)
    return _ESCAPED.sub(lambda match: " " * (len(match[0]) // 2) + "".join(map(_meant, match[0][1::2])), text)


def _meant(escaped: str) -> str:
    return {"n": "\n", "t": "\t", "\n": " "}.get(escaped, escaped)
