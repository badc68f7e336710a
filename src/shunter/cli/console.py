"""Terminal output: two rich consoles (they honour NO_COLOR and pipes), and machine-readable forms for `-o`."""

from __future__ import annotations

from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

WIDEST = 10_000
"""Columns of a table where there is no terminal."""


class Output(StrEnum):
    """What `-o` accepts where a command lists."""

    table = "table"
    json = "json"
    yaml = "yaml"


@cache
def output() -> Console:
    from rich.console import Console

    return Console(highlight=False)


@cache
def errors() -> Console:
    from rich.console import Console

    return Console(stderr=True, highlight=False)


def say(text: str) -> None:
    """A line on standard error as it stands: not wrapped, and with no markup in it, which paths may look like."""
    errors().print(text, soft_wrap=True, markup=False)


def print_table(table: Table) -> None:
    """On standard output. Where that is no terminal nothing is cut short or folded: who reads it there looks for whole names."""
    from rich.console import Console

    console = output()
    (console if console.is_terminal else Console(highlight=False, width=WIDEST)).print(table)


def print_as(value: Any, form: Output) -> None:
    """Writes plain values to standard output as JSON or YAML."""
    import sys

    import msgspec

    if form is Output.json:
        sys.stdout.write(msgspec.json.format(msgspec.json.encode(value)).decode() + "\n")
    else:
        sys.stdout.write(msgspec.yaml.encode(value).decode())
