"""The names by which the pods of a job reach each other, on either side, and texts in which they stand.

v1 gives each pod a Service of its name, `bert-master-0`; v2 gives each a name in the domain of the JobSet's headless Service,
`bert-node-0-0.bert`. A name of the one side means nothing on the other.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_LETTERS = r"[A-Za-z0-9_-]"


class Hosts:
    """The pods of one side by the names that they have there; a name is told by the same mark on both sides."""

    def __init__(self, marks: Mapping[str, str], namespace: str) -> None:
        """`marks` gives the mark of each name, as short as the other pods may say it."""
        self._marks = dict(marks)
        names = "|".join(sorted(map(re.escape, marks), key=len, reverse=True))
        domain = rf"(?:\.{re.escape(namespace)}(?:\.svc(?:\.[a-z0-9.-]*[a-z0-9])?)?)?"
        not_before, not_behind = rf"(?<!{_LETTERS})(?<!\.)(?<!^/)(?<![^/]/)", rf"(?!{_LETTERS})(?!\.[A-Za-z0-9])"
        self._pattern = re.compile(f"{not_before}({names}){domain}{not_behind}") if marks else None
        self._beginning = _common(min(marks, default=""), max(marks, default=""))
        """Of all names: most texts do not have even that."""

    def marked(self, value: Any) -> Any:
        """The value with a mark in the place of each name of a pod, be it short or with its namespace and domain."""
        if isinstance(value, str):
            if self._pattern is None or self._beginning not in value:
                return value
            return self._pattern.sub(lambda match: self._marks[match[1]], value)
        if isinstance(value, dict):
            return {key: self.marked(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.marked(item) for item in value]
        return value


def _common(first: str, last: str) -> str:
    """What both begin with, and so does every text between them."""
    for place, letter in enumerate(first):
        if last[place : place + 1] != letter:
            return first[:place]
    return first
