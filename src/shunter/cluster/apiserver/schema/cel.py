"""Rules in the Common Expression Language (`x-kubernetes-validations`): compiled once, evaluated on plain values.

The library weighs 17 MB of memory and 80 ms, so it is loaded when the first rule really needs it; `self == oldSelf`, all that
most kinds have, never does. Types are checked by `typecheck`, before a rule is stored.
Source: apiextensions-apiserver 1.36 `schema/cel` (texts), k8s.io/apiserver `cel/library` (functions: cel_functions.py).
"""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from shunter.api.late_patterns import late_pattern
from shunter.api.meta import Json
from shunter.cluster.apiserver.schema.cel_functions import MILLISECONDS, declarations, optional
from shunter.cluster.apiserver.schema.cel_times import kept

if TYPE_CHECKING:
    from cel_expr_python import cel as library

NO_OLD: Final = object()
"""Stands for a missing old value."""

_IDENTITY = late_pattern(r"\s*(self\s*==\s*oldSelf|oldSelf\s*==\s*self)\s*")
_OLD_SELF = late_pattern(r"(?<![\w.])oldSelf\b")
_ODD_STRINGS = late_pattern(r"\b[rR][bB]?['\"]|'{3}|\"{3}")
"""Raw and triple-quoted ones, whose ends `_STRINGS` misses."""
_SELF = late_pattern(r"(?<![\w.])(?:self|oldSelf)\b(?:\.([A-Za-z_]\w*)\b(?!\s*\())?")
_STRINGS = late_pattern(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")
_MILLISECONDS = late_pattern(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|\.\s*(getMilliseconds)\b")
_RESERVED = frozenset(
    (
        *("true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import"),
        *("let", "loop", "package", "namespace", "return"),
    )
)
_ESCAPES = (("__", "__underscores__"), (".", "__dot__"), ("-", "__dash__"), ("/", "__slash__"))
_NAME = late_pattern(r"[A-Za-z_][A-Za-z0-9_]*")
_MESSAGE_LIMIT = 5 * 1024
_LIBRARIES = ("strings", "math", "optional", "encoders", "bindings", "sets", "lists", "two-var-comprehensions")
_DESCRIPTORS = "google.protobuf.descriptor_pool"
_STATUS_CODE = late_pattern(r"^[A-Z_]+: |\s*\[[A-Z_]+\]$")
_FAULTS: tuple[tuple[re.Pattern[str], str], ...] = (
    (late_pattern(r'Key not found in map : "?(.*?)"?$'), r"no such key: \1"),
    (late_pattern(r"Index error: index=(-?\d+).*"), r"index out of bounds: \1"),
    (late_pattern(r"divide by zero|modulus by zero"), "division by zero"),
    (late_pattern(r"No matching overloads? found.*"), "no such overload"),
    (late_pattern(r"Iteration budget exceeded.*"), "operation cancelled: actual cost limit exceeded"),
)


class CompilationError(Exception):
    """An expression that is not CEL, or of the wrong type; the text points at the place."""


class EvaluationError(Exception):
    """A rule that could not be evaluated on a value; the text is the API server's. `is_final`: no further rule is run."""

    def __init__(self, text: str, *, is_final: bool = False) -> None:
        super().__init__(text)
        self.is_final = is_final


class Rule(NamedTuple):
    """One compiled rule."""

    source: Json
    holds: Callable[[Any, Any], bool]
    """Whether the rule holds for (self, old self or NO_OLD). Raises EvaluationError."""
    message: Callable[[Any, Any], str]
    """The message when it does not hold."""
    uses_old_self: bool
    optional_old_self: bool
    reads: frozenset[str] | None
    """The fields of self and oldSelf that rule and message read, under their escaped names; None: any of them."""

    @property
    def applies_without_old(self) -> bool:
        """Whether the rule runs without an old value. Transition rules do so only with `optionalOldSelf`."""
        return not self.uses_old_self or self.optional_old_self


@functools.lru_cache(maxsize=512)
def _compiled(expression: str, *, optional_old: bool) -> library.Expression:
    text = _for_library(expression)
    if optional_old:
        text = f"cel.bind(oldSelf, hasOld ? optional.of(old) : optional.none(), ({text}))"
    else:
        with suppress(RuntimeError):
            return _environment(optional_old, extended=False).compile(text)
    try:
        return _environment(optional_old, extended=True).compile(text)
    except RuntimeError as error:
        raise _compilation_error(error) from None


def _compilation_error(error: RuntimeError) -> CompilationError:
    fault = _STATUS_CODE.sub("", str(error)).strip().replace("\\u003F", "?")
    return CompilationError(f"compilation failed: {fault}")


def _for_library(expression: str) -> str:
    """The expression with the library's method replaced that gives the part of a duration below a second, where Go gives all
    its milliseconds."""
    if "getMilliseconds" not in expression or _ODD_STRINGS.search(expression):
        return expression
    return _MILLISECONDS.sub(lambda found: f".{MILLISECONDS}" if found[1] else found[0], expression)


def compile_rule(source: Json) -> Rule:
    """Compiles one entry of `x-kubernetes-validations`; the library is loaded when the rule is first evaluated."""
    expression = source["rule"]
    optional = bool(source.get("optionalOldSelf"))
    message_expression = source.get("messageExpression", "")
    fallback = source["message"].strip() if source.get("message") else f"failed rule: {expression.strip()}"

    def holds(value: Any, old: Any) -> bool:
        return bool(_evaluate(expression, value, old, optional=optional, shown=source.get("message") or expression))

    def message(value: Any, old: Any) -> str:
        if not message_expression:
            return fallback
        try:
            text = str(_evaluate(message_expression, value, old, optional=optional, shown=message_expression)).strip()
        except EvaluationError:
            return fallback
        return text if text and "\n" not in text and len(text) <= _MESSAGE_LIMIT else fallback

    return Rule(
        source=source,
        holds=_unchanged if _IDENTITY.fullmatch(expression) and not optional else holds,
        message=message,
        uses_old_self=_OLD_SELF.search(_STRINGS.sub("", expression)) is not None,
        optional_old_self=optional,
        reads=_fields_read(f"{expression} {message_expression}"),
    )


def _fields_read(expression: str) -> frozenset[str] | None:
    """The names after `self.` and `oldSelf.`; None when they are used in any other way, e.g. as a whole."""
    if _ODD_STRINGS.search(expression):
        return None
    found = [match[1] for match in _SELF.finditer(_STRINGS.sub("''", expression))]
    return frozenset(found) if all(found) else None


@functools.lru_cache(maxsize=4096)
def escaped(name: str) -> str:
    """The name of a property inside a rule; nothing for one that rules cannot name."""
    if name in _RESERVED:
        return f"__{name}__"
    for text, escape in _ESCAPES:
        name = name.replace(text, escape)
    return name if _NAME.fullmatch(name) else ""


def _unchanged(value: Any, old: Any) -> bool:
    return bool(value == old)


def _evaluate(expression: str, value: Any, old: Any, *, optional: bool, shown: str) -> Any:
    data = {"self": value}
    if optional:
        data |= {"hasOld": old is not NO_OLD, "old": None if old is NO_OLD else old}
    elif old is not NO_OLD:
        data["oldSelf"] = old
    try:
        compiled = _compiled(expression, optional_old=optional)
    except CompilationError as error:
        raise EvaluationError(f"rule compile error: {error}") from None
    try:
        result = compiled.eval(data=data)
        if result.type().name().lower() != "error":
            return result.value()
        fault = str(result.value())
    except RuntimeError as error:
        fault = str(error)
    raise _evaluation_error(_STATUS_CODE.sub("", fault).strip(), shown.strip())


def _plain_fault(fault: str) -> str:
    """The error in the words of CEL for Go."""
    for pattern, text in _FAULTS:
        if found := pattern.match(fault):
            return found.expand(text)
    return fault


def _evaluation_error(fault: str, shown: str) -> EvaluationError:
    fault = _plain_fault(fault)
    if fault == "no such overload":
        detail = "call arguments did not match a supported operator, function or macro signature for rule"
        return EvaluationError(f"'{fault}': {detail}: {shown}")
    if fault.startswith("operation cancelled"):
        detail = "no further validation rules will be run due to call cost exceeds limit for rule"
        return EvaluationError(f"'{fault}': {detail}: {shown}", is_final=True)
    return EvaluationError(f"{fault} evaluating rule: {shown}")


def evaluated(expression: str, values: Mapping[str, Any]) -> Any:
    """The value of an expression over these variables, which may be one of them in turn. Raises EvaluationError."""
    try:
        compiled = _compiled_over(expression, tuple(values))
        if compiled.return_type().name().startswith("optional"):
            has_value = evaluated(f"({expression}).hasValue()", values)
            return optional(evaluated(f"({expression}).value()", values)) if has_value else optional()
        result = compiled.eval(data=dict(values))
        if result.type().name().lower() != "error":
            return kept(result)
        fault = str(result.value())
    except (CompilationError, RuntimeError, TypeError) as error:  # TypeError: an optional value that only its evaluation shows
        fault = str(error)
    raise EvaluationError(_plain_fault(_STATUS_CODE.sub("", fault).strip()))


def library_type(expression: str, variables: tuple[str, ...]) -> str:
    """The type of an expression over these variables, of which nothing is known: `bool`, `int`, `null`, `dyn`. Raises
    CompilationError. Loads the library."""
    name: str = _compiled_over(expression, variables).return_type().name().lower()
    return name


@functools.lru_cache(maxsize=256)
def _compiled_over(expression: str, variables: tuple[str, ...]) -> library.Expression:
    from cel_expr_python import cel

    environment = _environment_of(dict.fromkeys(variables, cel.Type.DYN), extended=True)
    try:
        return environment.compile(_for_library(expression))
    except RuntimeError as error:
        raise _compilation_error(error) from None


@functools.cache
def _environment(optional_old: bool, *, extended: bool) -> library.Env:
    """The CEL environment that compiles expressions. The extended one takes 13 MB more and few rules need it, so it is tried
    second."""
    from cel_expr_python import cel

    names = ("self", "hasOld", "old") if optional_old else ("self", "oldSelf")
    variables = {name: cel.Type.BOOL if name == "hasOld" else cel.Type.DYN for name in names}
    return _environment_of(variables, extended=extended)


def _environment_of(variables: Mapping[str, library.Type], *, extended: bool) -> library.Env:
    """One with Kubernetes' functions. The library would load protobuf, 2 MB and 60 ms, for descriptors of messages, and there are
    none: it is kept from that by the mark for a module that cannot be imported."""
    from cel_expr_python import cel

    config = _extensions() if extended else None
    functions = cel.CelExtension("kubernetes", declarations(cel))
    is_loaded = _DESCRIPTORS in sys.modules
    if not is_loaded:
        sys.modules[_DESCRIPTORS] = None  # type: ignore[assignment]
    try:
        return cel.NewEnv(config=config, variables=variables, extensions=[functions])
    finally:
        if not is_loaded:
            del sys.modules[_DESCRIPTORS]


@functools.cache
def _extensions() -> library.EnvConfig:
    """The libraries beside the standard one."""
    from cel_expr_python import cel

    return cel.NewEnvConfigFromYaml("name: kubernetes\nextensions:\n" + "".join(f"- name: {name}\n" for name in _LIBRARIES))
