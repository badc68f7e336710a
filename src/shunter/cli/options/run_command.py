"""The class of the command `run`: what follows `--` are arguments of the program."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING, Any

import typer

from shunter.cli.options.command import Command
from shunter.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

PROGRAM_ARGUMENTS = "shunter.program.arguments"


class RunCommand(Command):
    """Separates the arguments after the first `--`, which the parser would take for manifests."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Stores the arguments after `--`, if any, in `ctx.meta[PROGRAM_ARGUMENTS]`. Raises InputError for a command that starts
        a program, such as `torchrun train.py`."""
        place = None if ctx.resilient_parsing else self._first_argument(ctx, args)
        if place is not None and not is_program(args[place]):
            require_no_launcher(args[:place], args[place:])
        if "--" in args:
            at = args.index("--")
            ctx.meta[PROGRAM_ARGUMENTS] = args[at + 1 :]
            args = args[:at]
        return super().parse_args(ctx, args)

    def _first_argument(self, ctx: Any, args: Sequence[str]) -> int | None:
        """The place of the first word before `--` that is neither an option nor the value of one; None without such a word."""
        options = [parameter for parameter in self.get_params(ctx) if parameter.param_type_name == "option"]
        with_value = {name for option in options if not getattr(option, "is_flag", False) for name in option.opts}
        place = 0
        while place < len(args) and args[place].startswith("-") and args[place] != "--":
            place += 2 if args[place] in with_value else 1
        return place if place < len(args) and args[place] != "--" else None

    def missing_option(self, ctx: Any, missing: str, words: list[str]) -> InputError:
        """The error for a missing option, as for any command; if a program was named, the remedy also says how to pass the option
        to the program."""
        error = super().missing_option(ctx, missing, words)
        if not (program := programs_among(words)[:1]):
            return error
        own = f"Options of the program itself come after --: shunter run {program[0]} -- {missing}"
        meant = f"{error.remedy} " if error.remedy.startswith("Did you mean") else ""
        return InputError(error.message, f"{meant}{own}")


def require_no_launcher(options: Sequence[str], words: Sequence[str]) -> None:
    """InputError if the words after the options of `run` are a command of an interpreter or launcher, such as `torchrun
    --nproc-per-node 2 train.py` or `mpirun -np 2 python train.py`; it says how `run` starts the same program, without
    credentials."""
    from shunter.api.secrets.masking import credentials, masked_value
    from shunter.jobs.commands.arguments import Argument, SourceRange
    from shunter.jobs.commands.launchers import started, starts_programs

    if not starts_programs(words[0]) or os.path.isdir(words[0]):
        return
    found = started([Argument(word, SourceRange()) for word in words])
    launcher, named = words[0], ["train.py"]
    if found is not None and found.name:
        launcher = words[0] if found.launcher == "python" else " ".join(word.value for word in found.head)
    while found is not None and found.kind == "script" and starts_programs(found.name):
        found = started(found.program)
    if found is not None and found.program and (found.kind == "module" or is_program(found.name)):
        name, *own = [word.value for word in found.program]
        own = own[1:] if own[:1] == ["--"] else own
        named = [*(["-m"] if found.kind == "module" else []), name, *(["--", *own] if own else [])]
    command = ["shunter", "run", *options, *named]
    secrets = credentials(command)
    raise InputError(
        f"{launcher} starts a program, which shunter run does itself.",
        f"Name the program alone: {shlex.join(masked_value(word, secrets) for word in command)}; "
        "--nodes and --procs set the number of processes.",
    )


def program_arguments(ctx: typer.Context) -> list[str] | None:
    """The arguments after `--`; None without `--`."""
    arguments: list[str] | None = ctx.meta.get(PROGRAM_ARGUMENTS)
    return arguments


def is_program(argument: str) -> bool:
    """Whether an argument is a script, not a manifest."""
    return argument.endswith(".py")


def programs_among(files: Sequence[str]) -> list[str]:
    """The arguments that are scripts, in their order."""
    return [file for file in files if is_program(file)]
