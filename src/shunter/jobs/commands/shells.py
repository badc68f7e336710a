"""Shells, and what their command lines say: `bash -euc TEXT`, `bash FILE`; and Makefiles, read as the shell scripts that their
recipes are."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from shunter.api.late_patterns import late_pattern
from shunter.jobs.commands.arguments import SourceRange

SHELLS = frozenset({"sh", "bash", "dash", "ash", "zsh", "ksh"})
SETTERS = frozenset({"export", "declare", "typeset", "local", "readonly"})
"""Commands of a shell that set variables."""
_OTHER_USERS = frozenset({"su", "runuser", "script"})
"""Programs that give the shell of a user the text behind `-c`."""
_FIRST_LINE = late_pattern(r"^#!.*\b(?:ba|da|k|z)?sh\b")
_TEXT_OPTION = late_pattern(r"-[a-zA-Z]*c|--command")
_MAKEFILES = frozenset({"makefile", "gnumakefile"})
_ASSIGNMENT = late_pattern(r"^[ ]*(?:(?:export|override)[ ]+)*(?P<name>[A-Za-z_]\w*)[ \t]*[:?+!]{0,3}=[ \t]*", re.MULTILINE)
_RECIPE = late_pattern(r"^\t[ \t]*[@+-]+", re.MULTILINE)
_SHELL = late_pattern(r"\$[({]shell(?=\s)")
_VARIABLE = late_pattern(r"(?<!\$)\$\(([A-Za-z_]\w*)\)")
_ESCAPED = late_pattern(r"\$\$(\w+|\{[^}\n]*\}|\(|)")


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
    """The operands of a command whose first word is a shell; there may be none."""
    index, is_text = 1, False
    while index < len(words) and words[index][:1] in {"-", "+"} and words[index] not in {"-", "--"}:
        option = words[index]
        if not option.startswith("--") and option.endswith(("o", "O")) and "c" not in option:
            index += 1
        index += 2 if option in {"--rcfile", "--init-file"} else 1
        is_text = is_text or (option[0] == "-" and not option.startswith("--") and "c" in option)
    return ShellOperands(index + 1 if words[index : index + 1] == ["--"] else index, is_text)


def is_makefile(spot: SourceRange) -> bool:
    """Whether the text is a file that make reads, by its name."""
    name = str(spot.path[-1]).lower() if spot.file and spot.path else ""
    return name in _MAKEFILES or name.endswith(".mk")


def as_shell(text: str) -> str:
    """The Makefile as a script with as many characters, in which all stands at its place: `N = $(shell CMD)` becomes `N=$(CMD)`
    and `$(N)` becomes `${N}`, both with blanks around."""
    text = _SHELL.sub(lambda match: "$(" + " " * (len(match[0]) - 2), text)
    text = _ASSIGNMENT.sub(_assigned, text)
    text = _RECIPE.sub(lambda match: " " * len(match[0]), text)
    text = _VARIABLE.sub(r"${\1}", text)
    return _ESCAPED.sub(lambda match: f"${match[1]} " if match[1] else " $", text)


def _assigned(match: re.Match[str]) -> str:
    return " " * (len(match[0]) - len(match["name"]) - 1) + match["name"] + "="
