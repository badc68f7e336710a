"""Numbers of things in words. Pure."""

from __future__ import annotations


def count(number: int, thing: str, more: str = "") -> str:
    """`1 node`, `2 nodes`, `1,024 files`; `more` is the plural where that is not the word with an s."""
    return f"{number:,} {thing if number == 1 else more or f'{thing}s'}"
