"""Shells, and what their command lines say: `bash -euc TEXT`, `bash FILE`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from shunter.api.late_patterns import late_pattern

SHELLS = frozenset({"sh", "bash", "dash", "ash", "zsh", "ksh"})
_OTHER_USERS = frozenset({"su", "runuser"})
"""Programs that give the shell of a user the text behind `-c`."""
_FIRST_LINE = late_pattern(r"^#!.*\b(?:ba|da|k|z)?sh\b")
_TEXT_OPTION = late_pattern(r"-[a-zA-Z]*c|--command")


class ShellOperands(NamedTuple):
    """What stands behind the options of a shell."""

    start: int
    """The place of the first operand among the words."""
    is_text: bool
    """Whether that is a text to run, and no file."""


def is_shell_script(text: str) -> bool:
    """Whether the first line says that a shell reads the text."""
    return bool(_FIRST_LINE.match(text.partition("\n")[0]))


def text_words(words: Sequence[str]) -> Iterator[int]:
    """Which words of a command are texts for a shell, whatever starts it: `xargs -I{} bash -c TEXT`, `su user -c TEXT`."""
    program, is_of_user = "", False
    for number, word in enumerate(words[:-1]):
        if not word.startswith("-"):
            program = word.rpartition("/")[2]
            is_of_user = is_of_user or program in _OTHER_USERS
        elif _TEXT_OPTION.fullmatch(word) and (program in SHELLS or is_of_user):
            yield number + 1


def shell_operands(words: Sequence[str]) -> ShellOperands:
    """Those of a command whose first word is a shell; there may be none."""
    index, is_text = 1, False
    while index < len(words) and words[index][:1] in {"-", "+"} and words[index] not in {"-", "--"}:
        option = words[index]
        if not option.startswith("--") and option.endswith(("o", "O")) and "c" not in option:
            index += 1
        index += 2 if option in {"--rcfile", "--init-file"} else 1
        is_text = is_text or (option[0] == "-" and not option.startswith("--") and "c" in option)
    return ShellOperands(index + 1 if words[index : index + 1] == ["--"] else index, is_text)
