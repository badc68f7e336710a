"""Terminal output: two rich consoles (they honour NO_COLOR and pipes), and machine-readable forms for `-o`.

The consoles print `[worker-1]` as it is: texts have names, fields and paths that look like markup of rich. Colours are those of
`rich.text.Text`. A spinner (`busy`) reads markup in what is no Text, so it is given a Text if a name is in it.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

WIDEST = 10_000
"""Columns of what is printed where there is no terminal."""


class Output(StrEnum):
    """Values of `-o` for commands that list."""

    table = "table"
    json = "json"
    yaml = "yaml"


class ObjectForm(StrEnum):
    """Values of `-o` for commands that print objects to apply."""

    yaml = "yaml"
    json = "json"


@cache
def output() -> Console:
    """Standard output. One for the whole process."""
    import sys

    from rich.console import Console

    return Console(highlight=False, emoji=False, markup=False, width=width_of(sys.stdout))


@cache
def errors() -> Console:
    """Standard error: messages, notes and questions go there, results never. One for the whole process."""
    import sys

    from rich.console import Console

    return Console(stderr=True, highlight=False, emoji=False, markup=False, width=width_of(sys.stderr))


def width_of(stream: TextIO) -> int | None:
    """None for a terminal: rich uses its width. In a file or pipe no line is cut or wrapped, as programs look for whole names
    there, also if FORCE_COLOR or COLUMNS is set (`watch` sets the latter)."""
    return None if stream.isatty() else WIDEST


def say(text: str) -> None:
    """Prints a line on standard error without wrapping it."""
    import sys

    print(text, file=sys.stderr)


def busy(text: str | Text) -> AbstractContextManager[object]:
    """Shows a spinner with this text on standard error, while it is entered; nothing where that is no terminal."""
    import sys

    return errors().status(text) if sys.stderr.isatty() else nullcontext()


def note(text: str) -> None:
    """Prints a line on standard error that begins with `note:`."""
    from rich.text import Text

    errors().print(Text.assemble(("note:", "bold"), f" {text}"), soft_wrap=True)


def plain_table(*headings: str) -> Table:
    """An empty table without lines."""
    from rich.table import Table

    return Table(*headings, box=None, pad_edge=False, header_style="bold")


def print_table(table: Table) -> None:
    """Prints a table on standard output. Texts that do not fit into a terminal are wrapped within their column, not cut."""
    for column in table.columns:
        column.overflow, column.no_wrap = "fold", False
    output().print(table)


def print_as(value: Any, form: Output) -> None:
    """Writes plain values to standard output as JSON or YAML."""
    import sys

    import msgspec

    from shunter.api.yaml import readable_yaml

    if form is Output.json:
        sys.stdout.write(msgspec.json.format(msgspec.json.encode(value)).decode() + "\n")
    else:
        sys.stdout.write(readable_yaml(value))


def print_objects(objects: Sequence[Any], form: ObjectForm) -> None:
    """Writes Kubernetes objects to standard output: YAML documents, or a List in JSON."""
    import sys

    from shunter.api.yaml import readable_yaml

    if form is ObjectForm.json:
        print_as({"apiVersion": "v1", "kind": "List", "items": objects}, Output.json)
    else:
        sys.stdout.write("---\n".join(map(readable_yaml, objects)))
