"""What a plan of the v1 engine writes, says and tells, as short texts."""

from __future__ import annotations

from shunter.kube.controllers.plan import Create, Delete, Plan


def deleted(made: Plan) -> list[str]:
    return [f"{write.ref.resource.kind}/{write.ref.name}" for write in made.writes if isinstance(write, Delete)]


def created(made: Plan) -> list[str]:
    return [f"{write.resource.kind}/{write.body['metadata']['name']}" for write in made.writes if isinstance(write, Create)]


def states(made: Plan) -> list[str]:
    """The conditions of the status that is written."""
    assert made.status is not None
    return [f"{condition['type']}={condition['status']}" for condition in made.status.desired.get("conditions", [])]


def reasons(made: Plan) -> list[str]:
    """Of the events."""
    return [event.reason for event in made.events]
