"""The expressions of an admission policy over one write, with the policy's own variables.

Source: k8s.io/apiserver 1.36 `admission/plugin/cel`, whose texts these are.
"""

from __future__ import annotations

from typing import Any

from shunter.api.meta import Json
from shunter.cluster.apiserver.schema import cel


class ExpressionError(Exception):
    """An expression that could not be evaluated."""


class PolicyExpressions:
    """What the expressions of a policy with this spec evaluate to for these values."""

    def __init__(self, spec: Json, values: dict[str, Any]) -> None:
        self._values = {**values, "variables": {}}
        self._failed: dict[str, str] = {}
        for variable in spec.get("variables") or ():
            try:
                value = cel.evaluated(variable["expression"], self._values)
            except cel.EvaluationError as error:
                self._failed[variable["name"]] = self._cause(error, variable["expression"])
            else:
                self._values["variables"] = {**self._values["variables"], variable["name"]: value}

    def value(self, expression: str, *, shown: str = "") -> Any:
        """Raises ExpressionError, which has the expression as it is `shown` where that is another."""
        try:
            return cel.evaluated(expression, self._values)
        except cel.EvaluationError as error:
            named = (shown or expression).strip()
            raise ExpressionError(f"expression '{named}' resulted in error: {self._cause(error, expression)}") from None

    def _cause(self, error: cel.EvaluationError, expression: str) -> str:
        """The error of an expression: where it uses a variable that failed, which one and why."""
        name = str(error).removeprefix("no such key: ")
        if name in self._failed and f"variables.{name}" in expression:
            return f'composited variable "{name}" fails to evaluate: {self._failed[name]}'
        return str(error)
