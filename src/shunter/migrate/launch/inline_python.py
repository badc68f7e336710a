"""Code that a Python is given among the words of a command, whatever starts it: `mpirun -np 2 python3 -u -c 'import os; ...'`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_PYTHON = re.compile(r"(?:.*/)?(?:python|pypy)[\d.]*")


def code_words(words: Sequence[str]) -> Iterator[int]:
    """Which of the words are code."""
    for number, word in enumerate(words[:-1]):
        if re.fullmatch(r"-[a-zA-Z]*c", word) and _starts_python(words[:number]):
            yield number + 1


def is_python(word: str) -> bool:
    return bool(_PYTHON.fullmatch(word))


def _starts_python(words: Sequence[str]) -> bool:
    """Whether the last of the words that is no flag is a Python."""
    program = next((word for word in reversed(words) if not word.startswith("-")), "")
    return is_python(program)
