"""A program's arguments: where each of them is written, and which of them are options."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from shunter.api.paths import Path
from shunter.jobs.commands.launcher_options import Syntax, options_in


class SourceRange(NamedTuple):
    """A piece of a text of the job, or of a file that it mounts."""

    path: Path = ()
    """The string, below its container: `("args", 0)`; of a file the steps to it in its object: `("data", "run.sh")`."""
    start: int = 0
    end: int = 0
    """Offsets in that string."""
    is_exact: bool = False
    """Whether the word is written there as one, so that it can be replaced."""
    is_item: bool = False
    """Whether it is an item of a list (`args`), not a part of a shell text."""
    file: str = ""
    """`ConfigMap training-script`; empty for a text of the container itself."""
    is_decoded: bool = False
    """Whether a word that begins there holds the text in base64, so that offsets in the text are none of the string."""

    @property
    def is_secret(self) -> bool:
        """Whether it stands in a Secret, so that its value is not shown."""
        return self.file.startswith("Secret ")

    def offset(self, start: int) -> int:
        """Where in the string that is which stands at `start` in the text."""
        return self.start if self.is_decoded else self.start + start


class Argument(NamedTuple):
    """One word of a command line, and where it is written."""

    value: str
    spot: SourceRange


class Option(NamedTuple):
    """An option as it was given: `--nnodes=2` is one word, `--nnodes 2` two."""

    value: str
    """Empty for a flag."""
    words: tuple[Argument, ...]
    """The words that say it."""


class Parsed(NamedTuple):
    """A command line taken apart at its first word that is no option."""

    options: dict[str, Option]
    """The options by full name; the last one if repeated."""
    rest: tuple[Argument, ...]
    """What follows the options: the program with its arguments."""
    given: tuple[tuple[str, Option], ...] = ()
    """All options with their full names, in the order of the words."""


def parsed(words: Sequence[Argument], form: Syntax) -> Parsed:
    """The options in front of the first word that is none."""
    found, end = options_in([word.value for word in words], form)
    given = tuple((one.name, Option(one.value, tuple(words[one.words]))) for one in found)
    return Parsed(dict(given), tuple(words[end:]), given)
