"""Numbers of things in words. Pure."""

from __future__ import annotations

from collections.abc import Sequence


def count(number: int, thing: str, more: str = "") -> str:
    """`1 node`, `2 nodes`, `1,024 files`; `more` is the plural where that is not the word with an s."""
    return f"{number:,} {noun(number, thing, more)}"


def noun(number: int, thing: str, more: str = "") -> str:
    """`node`, `nodes`: the word alone, in the form that so many things take."""
    return thing if number == 1 else more or f"{thing}s"


def joined(names: Sequence[str]) -> str:
    """`a, b and c`: all of the names, of which there is at least one."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def listed(names: Sequence[str], most: int = 3) -> str:
    """`a, b, c and 4 more`: the first so many of the names, and how many others there are."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
