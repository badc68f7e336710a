"""The class of the command `run`: the words after `--` are arguments of the program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from shunter.cli.options.command import Command
from shunter.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

OWN_WORDS = "shunter.program.words"


class RunCommand(Command):
    """Separates the words after the first `--`, which the parser would take for manifests."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Stores the words after `--`, if there is one, in `ctx.meta[OWN_WORDS]`. Raises InputError for an option with an empty
        value."""
        if "--" in args:
            at = args.index("--")
            ctx.meta[OWN_WORDS] = args[at + 1 :]
            args = args[:at]
        rest = list(super().parse_args(ctx, args))
        require_values(ctx, self.get_params(ctx))
        return rest

    def missing_option(self, ctx: Any, missing: str, words: list[str]) -> InputError:
        """As for any command; if a program was named, the remedy also says how to pass the option to the program."""
        error = super().missing_option(ctx, missing, words)
        if not (program := programs_among(words)[:1]):
            return error
        own = f"Options of the program itself come after --: shunter run {program[0]} -- {missing}"
        meant = f"{error.remedy} " if error.remedy.startswith("Did you mean") else ""
        return InputError(error.message, f"{meant}{own}")


def require_values(ctx: Any, parameters: Sequence[Any]) -> None:
    """InputError for an option that was given an empty text. It would count as not given: `--resume "$JOB"` without that variable
    would train from nothing."""
    for parameter in parameters:
        name = parameter.name
        if ctx.params.get(name) == "" and ctx.get_parameter_source(name).name == "COMMANDLINE":
            option = max(parameter.opts, key=len)
            raise InputError(
                f"{option} is empty, as when a variable of the shell is not set.", "Give it a value, or leave it out."
            )


def own_words(ctx: typer.Context) -> list[str] | None:
    """What stood after `--`; None without `--`."""
    words: list[str] | None = ctx.meta.get(OWN_WORDS)
    return words


def is_program(word: str) -> bool:
    """Whether a word of the command line is a script and no manifest."""
    return word.endswith(".py")


def programs_among(files: Sequence[str]) -> list[str]:
    """The words that end in `.py`, in their order."""
    return [word for word in files if is_program(word)]
