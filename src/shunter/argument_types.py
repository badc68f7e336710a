"""Arguments of what users call from Python, held to their annotations: a text in place of a list of texts would be taken for a
list of single characters."""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Callable, Mapping
from functools import cache, reduce, wraps
from operator import or_
from typing import Any, ParamSpec, TypeVar, get_args, get_type_hints

import msgspec

from shunter.errors import InputError

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

_PLAIN = (str, int, float, bool, types.NoneType)
_SHOWN = 60
"""Characters of a value in a message."""


def typed(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """The function, which raises InputError for an argument of another type than its annotation says."""
    signature = inspect.signature(function)

    @wraps(function)
    def checked(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        try:
            given = signature.bind(*args, **kwargs).arguments
        except TypeError as error:
            raise TypeError(f"{function.__name__}() {error}") from None
        require_types(function, given)
        return function(*args, **kwargs)

    return checked


def require_types(owner: Any, values: Mapping[str, Any]) -> None:
    """InputError for a value of another type than the annotation of that name says, of a function or a dataclass."""
    hints = _hints(owner)
    for name, value in values.items():
        if fault := _fault(value, hints[name]):
            shown = f"={repr(value)[:_SHOWN]}" if isinstance(value, _PLAIN) else ""
            raise InputError(f"{owner.__name__}: {name}{shown}: {fault}.", f"Its type is {_shown(hints[name])}.")


@cache
def _hints(owner: Any) -> dict[str, Any]:
    return get_type_hints(owner)


def _fault(value: Any, kind: Any) -> str:
    options = get_args(kind) if isinstance(kind, types.UnionType) else (kind,)
    classes = tuple(one for one in options if isinstance(one, type))
    # True is an int in Python, and no number of nodes.
    if isinstance(value, classes) and (not isinstance(value, bool) or bool in classes):
        return ""
    understood = [one for one in options if one is not types.NoneType and (one in _PLAIN or not isinstance(one, type))]
    if not understood:
        return f"expected {classes[0].__name__}, got {type(value).__name__}"
    try:
        msgspec.convert(value, reduce(or_, understood), from_attributes=True)
    except msgspec.ValidationError as error:
        text = str(error).replace("`", "").replace("array", "list").replace("object", "dict").replace("null", "None")
        return text[0].lower() + text[1:]
    return ""


def _shown(kind: Any) -> str:
    return re.sub(r"\b(?:\w+\.)+(?=\w)", "", inspect.formatannotation(kind))
