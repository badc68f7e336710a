"""The matchConditions of webhooks and policies: CEL expressions that all must hold before one is asked about a write.

Source: k8s.io/apiserver 1.36 `admission/plugin/webhook/matchconditions`
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shunter.api.field_errors import FieldError, aggregate, duplicate, invalid, required
from shunter.api.meta import Json
from shunter.api.names import label_key_faults
from shunter.cluster.apiserver.admission import expression_types
from shunter.cluster.apiserver.schema import cel
from shunter.cluster.apiserver.schema.cel_authorizer import authorizer
from shunter.cluster.apiserver.schema.typecheck.types import BOOL

_LIMIT = 64


class ConditionError(Exception):
    """Conditions that could not be evaluated."""


def hold(conditions: Sequence[Json], values: Mapping[str, Any]) -> bool:
    """Whether all conditions hold for these variables. One that does not hold decides, whatever the others are; else one that
    cannot be evaluated raises ConditionError."""
    faults: list[str] = []
    for condition in conditions:
        try:
            if not cel.evaluated(condition["expression"], values):
                return False
        except cel.EvaluationError as error:
            faults.append(f"expression '{condition['expression']}' resulted in error: {error}")
    if faults:
        raise ConditionError(aggregate(faults))
    return True


def values_of(request: Json) -> dict[str, Any]:
    """The variables of every expression about an AdmissionRequest."""
    about = {name: part for name, part in request.items() if name not in ("object", "oldObject")}
    resource = {
        "group": request["resource"]["group"],
        "resource": request["resource"]["resource"],
        "subresource": request.get("subResource", ""),
        "namespace": request.get("namespace", ""),
        "name": request.get("name", ""),
    }
    user = request["userInfo"]
    checks = authorizer(user["username"], user["groups"], resource)
    return {"object": request["object"], "oldObject": request["oldObject"], "request": about, "authorizer": checks}


def errors(conditions: Sequence[Json], field: str, *, has_params: bool = False) -> list[FieldError]:
    """What is wrong with the conditions of one webhook or policy."""
    found: list[FieldError] = []
    within = expression_types.environment(has_params=has_params)
    if len(conditions) > _LIMIT:
        found.append(FieldError("FieldValueTooMany", field, f"Too many: {len(conditions)}: must have at most {_LIMIT} items"))
    names: set[str] = set()
    for index, condition in enumerate(conditions):
        here, name, expression = f"{field}[{index}]", condition.get("name", ""), condition.get("expression", "")
        if not expression.strip():
            found.append(required(f"{here}.expression"))
        elif fault := expression_types.fault(expression, within, [BOOL]):
            found.append(invalid(f"{here}.expression", expression, fault))
        if not name:
            found.append(required(f"{here}.name"))
        elif name in names:
            found.append(duplicate(f"{here}.name", name))
        else:
            found += [invalid(f"{here}.name", name, detail) for detail in label_key_faults(name)]
        names.add(name)
    return found
