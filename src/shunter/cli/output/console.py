"""Terminal output: two rich consoles (they honour NO_COLOR and pipes), and machine-readable forms for `-o`."""

from __future__ import annotations

from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console
    from rich.table import Table

WIDEST = 10_000
"""Columns of what is printed where there is no terminal."""


class Output(StrEnum):
    """What `-o` accepts where a command lists."""

    table = "table"
    json = "json"
    yaml = "yaml"


class ObjectForm(StrEnum):
    """What `-o` accepts where a command prints the objects that it would apply."""

    yaml = "yaml"
    json = "json"


@cache
def output() -> Console:
    """Standard output. One for the whole process."""
    import sys

    from rich.console import Console

    return Console(highlight=False, emoji=False, width=width_of(sys.stdout))


@cache
def errors() -> Console:
    """Standard error: messages, notes and questions go there, results never. One for the whole process."""
    import sys

    from rich.console import Console

    return Console(stderr=True, highlight=False, emoji=False, width=width_of(sys.stderr))


def width_of(stream: TextIO) -> int | None:
    """None for a terminal, whose own width counts. In a file or a pipe nothing is cut short or folded: who reads it there looks
    for whole names. FORCE_COLOR and COLUMNS, which `watch` sets for a pipe, make no terminal of it."""
    return None if stream.isatty() else WIDEST


def say(text: str) -> None:
    """A line on standard error as it stands: not wrapped, and with no markup in it, which paths may look like."""
    errors().print(text, soft_wrap=True, markup=False)


def note(text: str) -> None:
    """A line on standard error that begins with `note:`; as with `say`, no markup in the text."""
    from rich.markup import escape

    errors().print(f"[bold]note:[/] {escape(text)}", soft_wrap=True)


def plain_table(*headings: str) -> Table:
    """A table without lines, whose rows are still to come."""
    from rich.table import Table

    return Table(*headings, box=None, pad_edge=False, header_style="bold")


def print_table(table: Table) -> None:
    """On standard output. What does not fit into a terminal goes on in the next line of its column; nothing is left out."""
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
