"""A group of commands that stand in one table: help, completion and suggestions read the table, and a command is imported when it
is called."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, ClassVar, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from shunter.cli.options.command import Command


class Entry(NamedTuple):
    """A command, or a group of commands."""

    module: str
    attribute: str
    """A function, or a `Typer`."""
    short_help: str
    settings: Mapping[str, Any] = {}
    """What typer's `command` takes besides; `cls` is the name of a class in the module."""

    def load(self, name: str) -> Any:
        """The click command of this name; imports its module."""
        module = import_module(self.module)
        found = getattr(module, self.attribute)
        group = typer.Typer(add_completion=False, rich_markup_mode=None)
        group.callback()(lambda: None)
        if isinstance(found, typer.Typer):
            for one in found.registered_commands:
                one.cls = Command if one.cls is TyperCommand else one.cls
            group.add_typer(found, name=name, short_help=self.short_help)
        else:
            settings = {"cls": Command, **self.settings}
            if isinstance(settings["cls"], str):
                settings["cls"] = getattr(module, settings["cls"])
            group.command(name, short_help=self.short_help, **settings)(found)
        whole: Any = get_command(group)
        return whole.commands[name]


class LazyGroup(TyperGroup):
    """Its commands are those of `table`; until one is called a command of the same name and short help stands for it."""

    table: ClassVar[Mapping[str, Entry]] = {}

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = {name: TyperCommand(name, short_help=entry.short_help) for name, entry in self.table.items()}

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The name, the command itself and its arguments."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, command if name is None else self.table[name].load(name), rest
