"""The classes of commands and groups: wrong options, values and arguments are reported as InputError, with a remedy."""

from __future__ import annotations

from typing import Any, ClassVar

from typer.core import TyperCommand, TyperGroup

from shunter.errors import InputError


class _Remedies:
    """Turns errors of the parser into InputErrors with a remedy."""

    takes_empty: ClassVar[bool] = False
    """Whether an empty text means the default."""

    def parse_args(self: Any, ctx: Any, args: list[str]) -> list[str]:
        """Raises InputError for an unknown option, a value of the wrong type, an empty one, and missing or extra arguments."""
        try:
            rest = list(super().parse_args(ctx, list(args)))  # type: ignore[misc]
        except Exception as error:
            # Typer contains its own copy of click, whose exceptions have no public name.
            if type(error).__name__ == "NoSuchOption":
                raise self.missing_option(ctx, getattr(error, "option_name", ""), args) from None
            if type(error).__name__ == "BadParameter" and getattr(error, "param", None) is not None:
                raise refused_value(ctx.command_path, error) from None
            if sentence := incomplete(error):
                raise InputError(sentence, f"See the usage: {ctx.command_path} --help") from None
            raise
        if not self.takes_empty:
            self._require_values(ctx)
        return rest

    def _require_values(self: Any, ctx: Any) -> None:
        """InputError for an empty text that would count as not given: `--resume "$JOB"` without that variable would train from
        nothing, and `--context "$CLUSTER"` use another cluster."""
        for parameter in self.get_params(ctx):
            is_given = ctx.get_parameter_source(parameter.name).name == "COMMANDLINE"
            if is_given and ctx.params.get(parameter.name) == "" and not parameter.default:
                raise InputError(
                    f"{shown_name(parameter)} is empty; perhaps a shell variable is not set.",
                    "Give it a value, or leave it out.",
                )

    def missing_option(self: Any, ctx: Any, missing: str, words: list[str]) -> InputError:
        """The error for an option that the command does not have; `words` are all its arguments."""
        from shunter.did_you_mean import did_you_mean, nearest

        options = [option for parameter in self.get_params(ctx) for option in parameter.opts if option.startswith("--")]
        remedy = did_you_mean(nearest(missing, options, cutoff=0.75), f"See them: {ctx.command_path} --help")
        return InputError(f"no option {missing}.", remedy)


class Command(_Remedies, TyperCommand):
    """Typer's command, with remedies."""


class Group(_Remedies, TyperGroup):
    """Typer's group, with remedies."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The name, the command and its arguments. Raises InputError for a word that is no command of the group."""
        word = args[0]
        if ctx.resilient_parsing or word.startswith("-") or self.get_command(ctx, word) is not None:
            return super().resolve_command(ctx, args)

        from shunter.did_you_mean import MOST, did_you_mean, nearest

        remedy = did_you_mean(nearest(word, self.commands, most=MOST), f"See them: {ctx.command_path} --help")
        raise InputError(f"{ctx.command_path} has no command {word}.", remedy)


class ServerCommand(Command):
    """A command that manifests start, which may write an option without a value for its default."""

    takes_empty = True


def incomplete(error: Any) -> str:
    """The message about missing or extra arguments; empty for another error."""
    match type(error).__name__:
        case "MissingParameter" if error.param is not None:
            return f"{shown_name(error.param)} is missing."
        case "BadOptionUsage":
            return f"{error.option_name} needs a value."
        case "UsageError":
            return f"{error.message.removeprefix('Got ').rstrip('.')}."
    return ""


def shown_name(parameter: Any) -> str:
    """`--nodes` for an option, `JOB` for an argument."""
    is_option = parameter.param_type_name == "option"
    return str(max(parameter.opts, key=len) if is_option else parameter.human_readable_name)


def refused_value(command: str, error: Any) -> InputError:
    """The error for a value of the wrong type; for a number with an example."""
    parameter, message = error.param, str(error.message).rstrip(".")
    is_option, name = parameter.param_type_name == "option", shown_name(parameter)
    value, is_no_number, kind = message.partition(" is not a valid ")
    numbers = {"int": "whole number", "float": "number"}
    if not is_no_number or kind.split()[0] not in numbers:
        return InputError(f"{name}: {message}.", f"For the allowed values, see: {command} --help")
    default = parameter.default
    example = default if isinstance(default, int | float) and default > 1 else 2
    written = f"{name} {example:g}" if is_option else f"{example:g}"
    return InputError(f"{name}: {value} is not a {numbers[kind.split()[0]]}.", f"Write it like {written}.")
