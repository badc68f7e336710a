"""Code that a Python is given among the words of a command, whatever starts it: `mpirun -np 2 python3 -u -c 'import os; ...'`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from shunter.migrate.conversion.launch.launchers import is_python
from shunter.migrate.conversion.launch.wrappers import program_name


def code_words(words: Sequence[str]) -> Iterator[int]:
    """Which of the words are code."""
    for number, word in enumerate(words[:-1]):
        if re.fullmatch(r"-[a-zA-Z]*c", word):
            program = next((before for before in reversed(words[:number]) if not before.startswith("-")), "")
            if is_python(program_name(program)):
                yield number + 1
