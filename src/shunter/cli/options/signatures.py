"""The signatures of the verbs as data, which help and completion read without importing the verbs.

`signatures.json` is generated from the commands (`scripts/verb_signatures.py`). Tests: tests/cli/options/test_signatures.py.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from enum import StrEnum
from importlib import import_module
from inspect import Parameter, Signature
from pathlib import Path
from typing import Annotated, Any

import typer

from shunter.errors import InputError

FILE = Path(__file__).with_name("signatures.json")
TYPES: Mapping[str, Any] = {kind.__name__: kind for kind in (str, int, float, bool, Path)}


def declared(key: str) -> Callable[..., None] | typer.Typer:
    """The function or group `MODULE:ATTRIBUTE` with its options and texts. The function raises InputError when it is called: then
    --help was the value of an option."""
    found = json.loads(FILE.read_bytes())[key]
    if "commands" not in found:
        return function_of(found, refused)
    group = typer.Typer(rich_markup_mode=None)
    group.callback()(function_of(found, lambda **_: None))
    for name, command in found["commands"].items():
        group.command(name, short_help=command["short_help"])(function_of(command, refused))
    return group


def refused(**_: object) -> None:
    """Raises InputError: the command was called although --help was given."""
    raise InputError("--help was given as the value of an option.", "Leave it out, or write --OPTION=VALUE.")


def function_of(declaration: Mapping[str, Any], called: Callable[..., None]) -> Callable[..., None]:
    """A function with these parameters and this docstring, which does what `called` does."""

    def function(**values: object) -> None:
        called(**values)

    parameters = [parameter_of(name, parameter) for name, parameter in declaration["parameters"].items()]
    function.__doc__ = declaration["help"]
    function.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    function.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return function


def parameter_of(name: str, declaration: Mapping[str, Any]) -> Parameter:
    """An option or an argument as typer reads it from a function."""
    settings = dict(declaration["settings"])
    if completion := settings.get("autocompletion"):
        module, _, attribute = completion.partition(":")
        settings["autocompletion"] = getattr(import_module(module), attribute)
    values = declaration.get("values")
    kind: Any = StrEnum("Value", {value: value for value in values}) if values else TYPES[declaration["type"]]
    annotated: Any = list[kind] if declaration.get("repeatable") else kind
    default = declaration.get("default", Parameter.empty)
    info = typer.Argument(**settings) if declaration.get("argument") else typer.Option(*declaration["names"], **settings)
    optional = annotated if default is not None else annotated | None
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[optional, info])
