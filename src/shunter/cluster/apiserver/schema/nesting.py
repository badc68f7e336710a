"""How deep objects may be nested: deep enough for all that means anything, and no deeper than all who read them can follow.

kube-apiserver stops at 10,000 levels. Here pruning, patching and comparing call themselves, in the server and in its clients;
what they could not follow is refused before it is stored.
"""

from __future__ import annotations

from typing import Any

LIMIT = 200
"""Levels. A definition's schema, which is the deepest thing there is, has about 60."""
TOO_DEEP = "exceeded max depth"
_MANY = 2_000_000
"""Values that a body may expand to: more stand for a few aliases of aliases."""


class TooDeepError(Exception):
    """A value that nobody could follow, or that contains itself."""


def check(value: Any, text: bytes) -> None:
    """Raises TooDeepError for a value that is nested too deeply; `text` is where it was read from, or what it is written as."""
    if text.count(b"[") + text.count(b"{") > LIMIT:
        _walk(value)


def check_aliased(value: Any) -> None:
    """The same for a value that is read from YAML, where one text may stand in many places, even in itself."""
    _walk(value)


def _walk(value: Any) -> None:
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
