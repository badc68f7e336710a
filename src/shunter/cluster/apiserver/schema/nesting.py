"""Limits how deep objects may be nested: deep enough for every meaningful object, and shallow enough for all code that reads
them.

kube-apiserver stops at 10,000 levels. Here pruning, patching and comparing are recursive, in the server and in its clients;
objects too deep for them are refused before they are stored.
"""

from __future__ import annotations

from typing import Any

LIMIT = 200
"""Levels. The schema of a CustomResourceDefinition, the deepest kind of object, has about 60."""
TOO_DEEP = "exceeded max depth"
_MANY = 2_000_000
"""Values that a body may expand to: more indicate nested YAML aliases."""


class TooDeepError(Exception):
    """A value that is nested too deeply, or contains itself."""


def check(value: Any, text: bytes) -> None:
    """Raises TooDeepError for a value that is nested too deeply; `text` is where it was read from, or what it is written as."""
    if text.count(b"[") + text.count(b"{") > LIMIT:
        check_aliased(value)


def check_aliased(value: Any) -> None:
    """Checks the nesting of a value read from YAML, where aliases may repeat a node in many places, even inside itself."""
    level, depth, seen = [value], 0, 0
    while level:
        depth += 1
        seen += len(level)
        if depth > LIMIT + 1 or seen > _MANY:
            raise TooDeepError(TOO_DEEP)
        below: list[Any] = []
        for one in level:
            if isinstance(one, dict):
                below.extend(one.values())
            elif isinstance(one, list):
                below.extend(one)
            if seen + len(below) > _MANY:
                raise TooDeepError(TOO_DEEP)
        level = below
