"""Why an apply was refused, in kube-apiserver's words.

ApplyError
+-- ApplyConflicts     409 Conflict: other managers own fields that the configuration changes
+-- BadApply           400 BadRequest: the configuration is no apply configuration for this endpoint
+-- UntypedApply       500 InternalError: the configuration does not fit the kind's schema
"""

from __future__ import annotations

from typing import NamedTuple

from shunter.api.meta import Json
from shunter.cluster.apiserver.apply.field_set import Path, path_text
from shunter.cluster.apiserver.apply.managed import Manager
from shunter.cluster.apiserver.status import StatusError


class ApplyError(StatusError):
    """The configuration cannot be applied."""


class Conflict(NamedTuple):
    """One field and the other manager that owns it."""

    manager: Manager
    path: Path


class ApplyConflicts(ApplyError):
    """The conflicts in the order of managers and, for one manager, of its fields."""

    def __init__(self, conflicts: list[Conflict]) -> None:
        self.conflicts = conflicts
        super().__init__(409, "Conflict", _message(conflicts), {"causes": [_cause(conflict) for conflict in conflicts]})


def malformed(message: str) -> ApplyError:
    """400: no apply configuration for this endpoint."""
    return ApplyError(400, "BadRequest", message)


def misfit(message: str) -> ApplyError:
    """500: a configuration that does not fit the schema; the original has no better code for it."""
    return ApplyError(500, "", message)


def _cause(conflict: Conflict) -> Json:
    message = f"conflict with {_named(conflict.manager)}"
    return {"reason": "FieldManagerConflict", "message": message, "field": path_text(conflict.path)}


def _message(conflicts: list[Conflict]) -> str:
    if len(conflicts) == 1:
        conflict = conflicts[0]
        return f"Apply failed with 1 conflict: conflict with {_named(conflict.manager)}: {path_text(conflict.path)}"
    lines = []
    for manager in dict.fromkeys(conflict.manager for conflict in conflicts):
        lines.append(f"conflicts with {_named(manager)}:")
        lines += [f"- {path_text(conflict.path)}" for conflict in conflicts if conflict.manager == manager]
    return f"Apply failed with {len(conflicts)} conflicts: " + "\n".join(lines)


def _named(manager: Manager) -> str:
    name = f'"{manager.name}"'
    if manager.subresource:
        name += f' with subresource "{manager.subresource}"'
    return f"{name} using {manager.api_version}" if manager.operation == "Update" else name
