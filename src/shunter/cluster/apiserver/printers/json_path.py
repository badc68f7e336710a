"""The JSONPath of printer columns: `.a.b`, `['a']`, `[0]`, `[-1:]`, `[*]`, `[?(@.type=="Ready")]`.

What is missing yields nothing.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, NamedTuple


class Step(NamedTuple):
    """One step down: a field, an index, a slice, everything, or the items whose field at `value` compares to `operand`."""

    kind: str
    value: Any = None
    operator: str = ""
    operand: Any = None


Path = tuple[Step, ...]

_STEP = re.compile(
    r"""\.(?P<field>(?:\\.|[^.\[\]\\])+)
      | \[(?P<index>-?\d+)\]
      | \[(?P<slice>-?\d*:-?\d*)\]
      | (?P<all>\[\*\]|\.\*)
      | \[(?P<quote>['"])(?P<quoted>.*?)(?P=quote)\]
      | \[\?\(\s*@(?P<path>[^=!<>\s)]*)\s*(?:(?P<operator>==|!=|<=|>=|<|>)\s*(?P<operand>"[^"]*"|'[^']*'|[^)\s]+))?\s*\)\]
    """,
    re.VERBOSE,
)


@lru_cache(maxsize=512)
def compiled(text: str) -> Path:
    """The steps of a path. Raises ValueError for what is none."""
    text = text.strip()
    if text.startswith("{") and text.endswith("}"):
        text = text[1:-1]
    text = text.removeprefix("$")
    steps: list[Step] = []
    at = 0
    while at < len(text):
        match = _STEP.match(text, at)
        if match is None:
            raise ValueError(f"unrecognized JSONPath at {text[at:]!r}")
        steps.append(_step(match))
        at = match.end()
    return tuple(steps)


def _step(match: re.Match[str]) -> Step:
    if match["all"]:
        return Step("all")
    if match["index"] is not None:
        return Step("index", int(match["index"]))
    if match["slice"] is not None:
        return Step("slice", slice(*(int(bound) if bound else None for bound in match["slice"].split(":"))))
    if match["field"] is not None:
        return Step("field", re.sub(r"\\(.)", r"\1", match["field"]))
    if match["quote"]:
        return Step("field", match["quoted"])
    return Step("filter", compiled(match["path"]), match["operator"] or "", _literal(match["operand"]))


def _literal(text: str | None) -> Any:
    if text is None:
        return None
    if text[0] in "\"'":
        return text[1:-1]
    if text in ("true", "false"):
        return text == "true"
    try:
        return float(text)
    except ValueError:
        return text


def values(path: Path, document: Any) -> list[Any]:
    """Everything the path leads to."""
    found = [document]
    for step in path:
        found = [below for value in found for below in _below(step, value)]
    return found


def _below(step: Step, value: Any) -> list[Any]:
    match step.kind:
        case "field":
            return [value[step.value]] if isinstance(value, dict) and step.value in value else []
        case "index":
            inside = isinstance(value, list) and -len(value) <= step.value < len(value)
            return [value[step.value]] if inside else []
        case "slice":
            return value[step.value] if isinstance(value, list) else []
        case "all":
            return list(value.values()) if isinstance(value, dict) else list(value) if isinstance(value, list) else []
        case _:
            return [item for item in value if _fits(step, item)] if isinstance(value, list) else []


def _fits(step: Step, item: Any) -> bool:
    found = values(step.value, item)
    if not step.operator:
        return bool(found)
    if not found:
        return False
    left, right = found[0], step.operand
    try:
        match step.operator:
            case "==":
                return bool(left == right)
            case "!=":
                return bool(left != right)
            case "<":
                return bool(left < right)
            case "<=":
                return bool(left <= right)
            case ">":
                return bool(left > right)
            case _:
                return bool(left >= right)
    except TypeError:
        return False
