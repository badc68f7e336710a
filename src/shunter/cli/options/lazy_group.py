"""A group of commands in a table: a command is imported when it is called. Help and completion of the group read the table, those
of a command its signature (`signatures`)."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any, ClassVar, NamedTuple

import typer
from typer.core import TyperCommand
from typer.main import get_command

from shunter.api.collector import paused
from shunter.cli.options.command import Command, Group

HELP = {"-h", "--help"}


class Entry(NamedTuple):
    """A command, or a group of commands."""

    module: str
    attribute: str
    """A function, or a `Typer`."""
    short_help: str
    settings: Mapping[str, Any] = {}
    """Further arguments of typer's `command`; `cls` is a class, or the name of one in the module."""
    has_signature: bool = True
    """Whether it is in `signatures`: False for a table, and for a command that completes its words itself."""

    @property
    def key(self) -> str:
        """Its name among the signatures."""
        return f"{self.module}:{self.attribute}"

    def load(self, name: str) -> Any:
        """The click command of this name; imports its module."""
        if self.module not in sys.modules:
            with paused():
                import_module(self.module)
        module = sys.modules[self.module]
        cls = self.settings.get("cls", Command)
        return self.command(name, getattr(module, self.attribute), getattr(module, cls) if isinstance(cls, str) else cls)

    def declared(self, name: str) -> Any:
        """The command with its options and texts, for help and completion; it cannot run."""
        if not self.has_signature:
            return self.load(name)

        from shunter.cli.options import signatures  # not needed to run a command

        return self.command(name, signatures.declared(self.key), self.settings.get("cls", Command))

    def command(self, name: str, found: Any, cls: type) -> Any:
        """The click command that typer creates from a function or a `Typer`."""
        group = typer.Typer(add_completion=False, rich_markup_mode=None)
        group.callback()(lambda: None)
        if isinstance(found, typer.Typer):
            for registered in found.registered_commands:
                registered.cls = Command if registered.cls is TyperCommand else registered.cls
            group.add_typer(found, name=name, short_help=self.short_help)
        else:
            group.command(name, short_help=self.short_help, **{**self.settings, "cls": cls})(found)
        click_group: Any = get_command(group)
        return click_group.commands[name]


class LazyGroup(Group):
    """The group of the commands in `table`, each with a placeholder of the same name and short help until it is called."""

    table: ClassVar[Mapping[str, Entry]] = {}

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = {name: TyperCommand(name, short_help=entry.short_help) for name, entry in self.table.items()}

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The name, the command itself and its arguments; for help and completion the command as it is declared."""
        name, command, rest = super().resolve_command(ctx, args)
        if name is None:
            return name, command, rest
        options = rest[: rest.index("--")] if "--" in rest else rest
        is_help = ctx.resilient_parsing or not HELP.isdisjoint(options)
        return name, self.table[name].declared(name) if is_help else self.table[name].load(name), rest
