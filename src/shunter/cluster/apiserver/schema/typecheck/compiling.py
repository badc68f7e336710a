"""An expression compiled as far as its types: read, checked, and its faults displayed."""

from __future__ import annotations

from collections.abc import Sequence

from shunter.cluster.apiserver.schema.cel import CompilationError, library_type
from shunter.cluster.apiserver.schema.typecheck.checker import Checked, Environment, Fault, check, displayed
from shunter.cluster.apiserver.schema.typecheck.literals import literal_faults, program_fault
from shunter.cluster.apiserver.schema.typecheck.syntax import SyntaxFaults, UnreadableError, parsed
from shunter.cluster.apiserver.schema.typecheck.tree import Literal


def compiled(expression: str, environment: Environment) -> Checked:
    """The checked expression. Raises CompilationError. What is not read here is left to the library, which knows no types."""
    try:
        checked = check(parsed(expression), environment)
    except SyntaxFaults as error:
        raise _error(expression, error.faults) from None
    except (UnreadableError, RecursionError):
        kind = library_type(expression, tuple(environment.variables))
        return check(Literal(0, kind), environment)
    if faults := checked.faults or literal_faults(checked):
        raise _error(expression, faults)
    if fault := program_fault(checked):
        raise CompilationError(fault)
    return checked


def _error(expression: str, faults: Sequence[Fault]) -> CompilationError:
    return CompilationError(f"compilation failed: {displayed(expression, faults)}")
