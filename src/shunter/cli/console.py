"""Terminal output: two rich consoles (they honour NO_COLOR and pipes), and machine-readable forms for `-o`."""

from __future__ import annotations

from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console


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


def print_as(value: Any, form: Output) -> None:
    """Writes plain values to standard output as JSON or YAML."""
    import sys

    import msgspec

    if form is Output.json:
        sys.stdout.write(msgspec.json.format(msgspec.json.encode(value)).decode() + "\n")
    else:
        sys.stdout.write(msgspec.yaml.encode(value).decode())
