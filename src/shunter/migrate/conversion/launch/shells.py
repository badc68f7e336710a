"""Shells, and what their command lines say: `bash -euc TEXT`, `bash FILE`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

SHELLS = frozenset({"sh", "bash", "dash", "ash", "zsh", "ksh"})


class ShellOperands(NamedTuple):
    """What stands behind the options of a shell."""

    start: int
    """The place of the first operand among the words."""
    is_text: bool
    """Whether that is a text to run, and no file."""


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
