"""An expression compiled as far as its types: read, checked, and its faults displayed."""

from __future__ import annotations

from collections.abc import Sequence

from shunter.cluster.apiserver.schema.cel import CompilationError, library_type
from shunter.cluster.apiserver.schema.typecheck.checker import Checked, Environment, Fault, check, displayed
from shunter.cluster.apiserver.schema.typecheck.literals import literal_faults, program_fault
from shunter.cluster.apiserver.schema.typecheck.syntax import SyntaxFaults, UnreadableError, parsed
from shunter.cluster.apiserver.schema.typecheck.tree import Literal

_PREFIX = "compilation failed: "


def compiled(expression: str, environment: Environment) -> Checked:
    """The checked expression. Raises CompilationError. What is not read here is left to the library, which knows no types."""
    try:
        checked, faults = _checked(expression, environment)
    except (UnreadableError, RecursionError):
        kind = library_type(expression, tuple(environment.variables))
        return check(Literal(0, kind), environment)
    if checked is None or faults:
        raise CompilationError(f"{_PREFIX}{displayed(expression, faults)}")
    if fault := program_fault(checked):
        raise CompilationError(fault)
    return checked


def type_faults(expression: str, environment: Environment) -> str:
    """The faults of an expression with its lines, whatever it evaluates to; empty where there are none."""
    try:
        return displayed(expression, _checked(expression, environment)[1])
    except (UnreadableError, RecursionError):
        try:
            library_type(expression, tuple(environment.variables))
        except CompilationError as error:
            return str(error).removeprefix(_PREFIX)
        return ""


def _checked(expression: str, environment: Environment) -> tuple[Checked | None, Sequence[Fault]]:
    """The checked expression, None where it is none; and what is wrong with it."""
    try:
        checked = check(parsed(expression), environment)
    except SyntaxFaults as error:
        return None, error.faults
    return checked, checked.faults or literal_faults(checked)
