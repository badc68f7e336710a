"""The signatures of all verbs, for src/shunter/cli/options/signatures.json."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from importlib import import_module
from inspect import Parameter, cleandoc, isclass, signature
from pathlib import Path
from types import NoneType
from typing import Any, Literal, get_args, get_origin

import msgspec
import typer
from typer.models import ArgumentInfo

from shunter.cli.main import Verbs
from shunter.cli.migrate import Verbs as MigrateVerbs

Declaration = dict[str, Any]


def verb_signatures() -> bytes:
    """`MODULE:ATTRIBUTE` of each verb -> its help and parameters."""
    declarations = {}
    for entry in (*Verbs.table.values(), *MigrateVerbs.table.values()):
        if entry.has_signature:
            found = getattr(import_module(entry.module), entry.attribute)
            declarations[entry.key] = _group(found) if isinstance(found, typer.Typer) else _function(found)
    return msgspec.json.format(msgspec.json.encode(declarations), indent=1) + b"\n"


def _group(group: typer.Typer) -> Declaration:
    callback = group.registered_callback
    own = _function(callback.callback) if callback and callback.callback else {"help": None, "parameters": {}}
    commands = {
        str(command.name): {"short_help": command.short_help, **_function(command.callback)}
        for command in group.registered_commands
        if command.callback
    }
    return {**own, "commands": commands}


def _function(function: Callable[..., Any]) -> Declaration:
    parameters = {
        name: _parameter(parameter)
        for name, parameter in signature(function, eval_str=True).parameters.items()
        if get_args(parameter.annotation)
    }
    return {"help": function.__doc__ and cleandoc(function.__doc__), "parameters": parameters}


def _parameter(parameter: Parameter) -> Declaration:
    annotated, info = get_args(parameter.annotation)
    is_argument = isinstance(info, ArgumentInfo)
    kind = next((one for one in get_args(annotated) if one is not NoneType), annotated) if _is_optional(annotated) else annotated
    is_list = get_origin(kind) is list
    kind = get_args(kind)[0] if is_list else kind
    default = {} if parameter.default is Parameter.empty else {"default": _plain(parameter.default)}
    if get_origin(kind) is Literal:
        named: Declaration = {"values": list(get_args(kind))}
    elif isclass(kind) and issubclass(kind, Enum):
        named = {"values": [member.value for member in kind]}
    else:
        named = {"type": kind.__name__}
    names = [name for name in (info.default, *(info.param_decls or ())) if isinstance(name, str)]
    marks = {name: True for name, holds in (("argument", is_argument), ("repeatable", is_list)) if holds}
    return {"names": names, **marks, **named, **default, "settings": _settings(info)}


def _is_optional(annotation: Any) -> bool:
    return NoneType in get_args(annotation)


def _settings(info: Any) -> Declaration:
    """What was said of an option or an argument, beside its names and its default."""
    unsaid = vars(typer.Argument() if isinstance(info, ArgumentInfo) else typer.Option())
    said = {name: value for name, value in vars(info).items() if value != unsaid[name]}
    return {name: _plain(value) for name, value in said.items() if name not in ("default", "param_decls")}


def _plain(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if not callable(value):
        return value
    if not value.__qualname__.isidentifier():
        raise TypeError(f"{value.__qualname__} of {value.__module__} is not a function of a module, which alone can be named")
    return f"{value.__module__}:{value.__qualname__}"
