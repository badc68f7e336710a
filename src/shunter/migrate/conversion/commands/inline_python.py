"""Code that a Python is given among the words of a command, whatever starts it: `mpirun -np 2 python3 -u -c 'import os; ...'`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from shunter.jobs.commands import shell
from shunter.jobs.commands.launcher_options import program_name
from shunter.jobs.commands.launchers import is_python
from shunter.jobs.commands.shell_words import Word


def code_words(words: Sequence[str]) -> Iterator[int]:
    """Which of the words are code."""
    for number, word in enumerate(words[:-1]):
        if re.fullmatch(r"-[a-zA-Z]*c", word):
            program = next((before for before in reversed(words[:number]) if not before.startswith("-")), "")
            if is_python(program_name(program)):
                yield number + 1


def shell_code(text: str) -> Iterator[tuple[str, int]]:
    """The code that commands of a shell text give a Python by `-c`, and where it begins. What the shell puts in is left as it is
    written."""
    for command in shell.script(text).commands:
        for number in code_words([word.literal or "" for word in command.words]):
            yield quoted_code(text, command.words[number])


def quoted_code(text: str, word: Word) -> tuple[str, int]:
    """A word that is code, and where the code begins."""
    code = word.literal if word.literal is not None else text[word.start : word.end].strip("\"'")
    return code, min(word.start + (text[word.start : word.start + 1] in {"'", '"'}), word.end - 1)
