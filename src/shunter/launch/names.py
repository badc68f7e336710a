"""The name of a job that was given none: from its program, with a number when it is taken."""

from __future__ import annotations

import re
from collections.abc import Container
from itertools import count

from shunter.launch.options import LONGEST_NAME, Program

_NUMBER_CHARACTERS = 5
_LARGEST = 99


def base_name(program: Program) -> str:
    """The script's stem or the module's last part as a DNS label that starts with a letter: `Train_LM.py` is `train-lm`."""
    stem = program.module.rpartition(".")[2] or program.path.rpartition("/")[2].removesuffix(".py")
    name = re.sub("[^a-z0-9]+", "-", stem.lower()).strip("-")
    if not name[:1].isalpha():
        name = f"job-{name}".rstrip("-")
    return name[: LONGEST_NAME - _NUMBER_CHARACTERS].rstrip("-")


def free_name(base: str, taken: Container[str]) -> str:
    """The name, or the first of NAME-2, NAME-3, ... that is not taken."""
    return next(name for number in count(1) if (name := base if number == 1 else f"{base}-{number}") not in taken)


def earlier_names(name: str, program: str = "") -> set[str]:
    """The name, and those that come before it when jobs are numbered: `train` and `train-2` of `train-3`. A number above 99 is
    taken for a part of the name, such as a year; above 999 where the rest is the name that `program`, a title, gives."""
    own = base_name(Program(module=program.removeprefix("-m ")) if program.startswith("-m ") else Program(path=program))
    if program and name == own:
        return {name}
    numbered = re.fullmatch(r"(.+)-([2-9]|[1-9][0-9]{1,2})", name)
    if numbered is None or (int(numbered[2]) > _LARGEST and not (program and numbered[1] == own)):
        return {name}
    return {numbered[1], *(f"{numbered[1]}-{number}" for number in range(2, int(numbered[2]) + 1))}


def unnumbered(name: str, program: str = "") -> str:
    """The first of `earlier_names`: that to which numbers are added."""
    return min(earlier_names(name, program), key=len)
