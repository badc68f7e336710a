"""The name of a job that was given none: from its program, with a number when it is taken."""

from __future__ import annotations

import re
from collections.abc import Container
from itertools import count

from shunter.launch.options import LONGEST_NAME, Program

_NUMBER_CHARACTERS = 5


def base_name(program: Program) -> str:
    """The script's stem or the module's last part as a DNS label that starts with a letter: `Train_LM.py` is `train-lm`."""
    return _name_of(program.title)


def _name_of(title: str) -> str:
    if title.startswith("-m "):
        stem = title.removeprefix("-m ").rpartition(".")[2]
    else:
        stem = title.rpartition("/")[2].removesuffix(".py")
    name = re.sub("[^a-z0-9]+", "-", stem.lower()).strip("-")
    if not name[:1].isalpha():
        name = f"job-{name}".rstrip("-")
    return name[: LONGEST_NAME - _NUMBER_CHARACTERS].rstrip("-")


def free_name(base: str, taken: Container[str]) -> str:
    """The name, or the first of NAME-2, NAME-3, ... that is not taken."""
    return next(name for number in count(1) if (name := base if number == 1 else f"{base}-{number}") not in taken)


def first_name(name: str, *, program: str = "", rerun_of: str = "") -> str:
    """The name to which numbers are added: of `train-3`, `train`, if that is the job that was run again (`rerun_of`) or the name
    that `program`, a title, gives. Else the name itself, as the number is its user's: `resnet-50`, `train-2024`."""
    own = _name_of(program) if program else ""
    return next((first for first in (rerun_of, own) if first and _number(name, first)), name)


def earlier_names(name: str, first: str) -> set[str]:
    """The name, and those that come before it when jobs are numbered: `train` and `train-2` of `train-3`."""
    return {name, first, *(f"{first}-{number}" for number in range(2, _number(name, first)))}


def _number(name: str, first: str) -> int:
    """The number of `train-3` for `train`; 0 if the name has none of ours. Above 999 it is taken for a part of the name, such as
    a year."""
    numbered = re.fullmatch(rf"{re.escape(first)}-([2-9]|[1-9][0-9]{{1,2}})", name)
    return int(numbered[1]) if numbered else 0
