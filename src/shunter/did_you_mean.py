"""What a word that is not known may have been meant to be."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

MOST = 3
"""Names that one suggestion offers."""


def nearest(word: str, known: Iterable[str], *, most: int = 1, cutoff: float = 0.6) -> list[str]:
    """At most so many of the known names that are nearly the word, whatever its case; the nearest first."""
    names: dict[str, list[str]] = {}
    for name in known:
        names.setdefault(name.lower(), []).append(name)
    close = difflib.get_close_matches(word.lower(), names, n=most, cutoff=cutoff)
    return [name for lower in close for name in names[lower]][:most]


def did_you_mean(names: Sequence[str], otherwise: str = "") -> str:
    """`Did you mean PyTorchJob?`, as a remedy; `otherwise` where there is no name to offer."""
    return f"Did you mean {' or '.join(names[:MOST])}?" if names else otherwise
