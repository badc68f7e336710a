"""Whether two pairs of a TrainJob and a runtime make the same JobSet."""

from __future__ import annotations

from typing import Any

from shunter.api.meta import Json
from shunter.api.trainer.trainjob import TrainJob
from shunter.migrate.conversion.rules.pods.environment import references
from shunter.operator.trainer.model import BuildError
from shunter.operator.trainer.render import jobset_for

_BY_NAME = ("volumes", "imagePullSecrets", "schedulingGates")
"""Lists whose order says nothing."""


def same_jobset(first: tuple[TrainJob, Json], other: tuple[TrainJob, Json]) -> bool:
    """Compares specs as the trainer would build them; False where one of them cannot be built."""
    try:
        before, after = jobset_for(*first)["spec"], jobset_for(*other)["spec"]
    except BuildError:
        return False
    return bool(before == after or _plain(before) == _plain(after))


def _plain(value: Any) -> Any:
    """Without what only order tells, but for which variables another one is made of."""
    if isinstance(value, dict):
        return {key: _plain_list(key, inner) if isinstance(inner, list) else _plain(inner) for key, inner in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value


def _plain_list(field: str, items: list[Any]) -> Any:
    if field == "env":
        return _variables(items)
    if field in _BY_NAME or field == "volumeMounts":
        return sorted(({**item} for item in items), key=lambda item: (str(item.get("name")), str(item.get("mountPath"))))
    return [_plain(item) for item in items]


def _variables(variables: list[Json]) -> dict[str, Any]:
    """Each with those before it that it refers to."""
    found: dict[str, Any] = {}
    for variable in variables:
        named = references(variable.get("value"))
        known = sorted({*named} & found.keys()) if named else []
        found[variable["name"]] = (variable, known)
    return found
