"""Options that several commands share, as one parameter of each: a NamedTuple whose fields are the options."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, Signature, isclass, signature
from typing import Any, get_type_hints


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """The command for typer: each parameter whose type is a NamedTuple is replaced by the options of its fields. The command gets
    the tuple.

        class Names(NamedTuple):
            namespace: Annotated[str, typer.Option("-n", "--namespace")] = ""
            context: Annotated[str, typer.Option("--context")] = ""

        @grouped
        def delete(names: Names, now: bool = False) -> None: ...
    """
    hints = get_type_hints(command, include_extras=True)
    groups = {
        name: hint for name, hint in hints.items() if isclass(hint) and issubclass(hint, tuple) and hasattr(hint, "_fields")
    }
    parameters: list[Parameter] = []
    for name, parameter in signature(command).parameters.items():
        if name in groups:
            parameters += _parameters_of(groups[name])
        else:
            parameters.append(parameter.replace(annotation=hints[name], kind=Parameter.KEYWORD_ONLY))

    @wraps(command)
    def flat(**values: Any) -> None:
        for name, group in groups.items():
            values[name] = group(**{field: values.pop(field) for field in group._fields})
        command(**values)

    flat.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    flat.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return flat


def given_options(group: Any) -> list[str]:
    """The options of a group that are set, as written on the command line: in full where they have such a name."""
    hints = get_type_hints(type(group), include_extras=True)
    found = []
    for field in group._fields:
        if getattr(group, field) != group._field_defaults[field]:
            (option,) = hints[field].__metadata__
            # Within Annotated typer takes the first name for a default.
            names = (option.default, *option.param_decls)
            found.append(next((name for name in names if name.startswith("--")), names[0]))
    return found


def _parameters_of(group: Any) -> list[Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [
        Parameter(field, Parameter.KEYWORD_ONLY, default=group._field_defaults[field], annotation=hints[field])
        for field in group._fields
    ]
