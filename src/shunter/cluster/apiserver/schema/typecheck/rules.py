"""The rules at one place of a CustomResourceDefinition's schema: whether they compile, and to what.

Source: apiextensions-apiserver 1.36 `apiserver/schema/cel/compilation.go`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from shunter.api.meta import Json
from shunter.cluster.apiserver.schema.cel import CompilationError
from shunter.cluster.apiserver.schema.typecheck import types
from shunter.cluster.apiserver.schema.typecheck.checker import Checked, Environment
from shunter.cluster.apiserver.schema.typecheck.compiling import compiled
from shunter.cluster.apiserver.schema.typecheck.costs import most_cost
from shunter.cluster.apiserver.schema.typecheck.schemas import Declared, named
from shunter.cluster.apiserver.schema.typecheck.types import Type

_SELF, _OLD = "self", "oldSelf"
_ROOT = "selfType0"
"""What the type of `self` is called in error messages; a real server numbers it anew each time."""


class CompiledRule(NamedTuple):
    """A rule with its message; the texts say why one of them does not compile."""

    rule: Checked | None
    fault: str
    cost: int = 0
    message: Checked | None = None
    message_fault: str = ""
    message_cost: int = 0

    @property
    def uses_old_self(self) -> bool:
        """Whether the rule reads the old value; not whether its message does."""
        return self.rule is not None and _OLD in self.rule.names


def compiled_rule(source: Json, self_type: Declared) -> CompiledRule:
    """An entry of `x-kubernetes-validations` at a place of which the schema declares this."""
    environment = _environment(self_type, optional=bool(source.get("optionalOldSelf")))
    rule, fault = _compiled(source["rule"], environment, "bool", "cel expression must evaluate to a bool")
    cost = most_cost(rule, self_type) if rule else 0
    if rule is None or not source.get("messageExpression"):
        return CompiledRule(rule, fault, cost)
    text = "messageExpression must evaluate to a string"
    message, message_fault = _compiled(source["messageExpression"], environment, "string", text)
    if message_fault != text and message_fault:
        message_fault = f"messageExpression {message_fault}"
    message_cost = most_cost(message, self_type) if message else 0
    return CompiledRule(rule, fault, cost, message, message_fault, message_cost)


def _compiled(expression: str, environment: Environment, expected: str, otherwise: str) -> tuple[Checked | None, str]:
    try:
        checked = compiled(expression, environment)
    except CompilationError as error:
        return None, str(error)
    return (checked, "") if checked.type == Type(expected) else (None, otherwise)


def _environment(self_type: Declared, *, optional: bool) -> Environment:
    structs: dict[str, Mapping[str, Type]] = {}
    found = named(self_type, _ROOT, structs)
    return Environment({_SELF: found, _OLD: types.optional_of(found) if optional else found}, structs)
