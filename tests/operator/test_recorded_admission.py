"""What the operator's webhooks answer to new objects is what upstream's were recorded answering."""

from __future__ import annotations

import asyncio
import copy
import json
import re
from collections.abc import Awaitable
from datetime import UTC, datetime

import msgspec
import pytest

from player.case import Step
from player.compare import differences
from player.operator_replay import served_kinds
from player.outcomes import Recorded, parameters
from player.shape import TIME, Json
from shunter.api.field_errors import FieldError
from shunter.api.meta import MetadataOnly, ObjectMeta
from shunter.api.resources import CLUSTER_TRAINING_RUNTIMES, PRIORITY_CLASSES, TRAINING_RUNTIMES, Resource
from shunter.api.training.job_kind import GROUP
from shunter.kube.cache.store import Store
from shunter.kube.client import Client
from shunter.kube.errors import NotFound, Status
from shunter.kube.webhooks.server import AdmissionRequest, AdmissionResponse, Handler, allowed
from shunter.operator.trainer.admission import DEFAULTER_PATH, TrainerAdmission, validator_path
from shunter.operator.trainer.views import Runtime
from shunter.operator.training.admission import routes

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
DENIED = re.compile(r'admission webhook "(defaulter|validator)\.[a-z.-]+\.kubeflow\.org" denied the request: ')


class PriorityClassesOnly(Client):
    """A server that has PriorityClasses, which nothing caches, and else nothing beside the caches."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    async def get(self, resource: Resource, name: str, *arguments: object, **options: object) -> object:  # type: ignore[override]
        if resource == PRIORITY_CLASSES and name in self.names:
            return MetadataOnly(metadata=ObjectMeta(name=name))
        raise NotFound(Status(code=404, reason="NotFound", message="not found"))


@pytest.mark.parametrize("one", parameters("webhooks", "admission-v1", "admission-v2"))
def test_new_objects_get_the_recorded_answer(one: Recorded) -> None:
    case = one.case
    stores: dict[Resource, Store[Runtime]] = {TRAINING_RUNTIMES: Store(), CLUSTER_TRAINING_RUNTIMES: Store()}
    server = PriorityClassesOnly()
    admission = TrainerAdmission(server, stores, Store(), Store(), now=lambda: NOW)
    handlers = {**routes(), **admission.routes()}
    for step in case.steps:
        if step.verb != "apply":
            return
        for wanted, obj in zip(step.recorded["answers"], _objects(step), strict=True):
            if obj["kind"] == "PriorityClass":
                server.names.add(obj["metadata"]["name"])
            if obj["kind"] not in served_kinds() or not _is_ours(wanted):
                continue
            obj["metadata"].setdefault("namespace", case.namespace)
            response = asyncio.run(_answer(handlers, obj))
            got: Json = {"object": wanted["object"], "code": 201 if response.allowed else response.code}
            if response.warnings:
                got["warnings"] = list(response.warnings)
            if not response.allowed:
                got["message"] = TIME.sub("<time>", response.message)
            assert not list(differences(_as_webhook_says(wanted), got)), f"{wanted}\n{got}"
            if obj["kind"].endswith("TrainingRuntime") and response.allowed:
                _keep(stores, obj)


def _is_ours(wanted: Json) -> bool:
    """Whether it was the webhooks that decided, and not the API server itself."""
    return wanted["code"] == 201 or DENIED.search(wanted.get("message", "")) is not None


def _objects(step: Step) -> list[Json]:
    """The objects of a step as the API server hands them to webhooks: with a name, without status, whole numbers as integers."""
    objects = [json.loads(json.dumps(obj, default=str), parse_float=_number) for obj in step.argument]
    for obj in objects:
        obj["metadata"].setdefault("name", "generated")
        obj.pop("status", None)
    return objects


def _number(text: str) -> float | int:
    return int(float(text)) if float(text).is_integer() else float(text)


async def _answer(handlers: dict[str, Handler], obj: Json) -> AdmissionResponse:
    """The verdict of the webhooks on an object as the API server hands it to them."""
    served = served_kinds()[obj["kind"]]
    schema = served.kind.schema()
    obj = copy.deepcopy(obj)
    schema.prune(obj)
    schema.default(obj)
    request = AdmissionRequest(uid="1", operation="CREATE", object=obj)
    if (v1 := f"/validate-kubeflow-org-v1-{obj['kind'].lower()}") in handlers:
        return await _response(handlers[v1](request))
    if served.resource.group == GROUP:
        return allowed()
    if obj["kind"] == "TrainJob":
        defaulted = await _response(handlers[DEFAULTER_PATH](request))
        if not defaulted.allowed:
            return defaulted
        faults: list[FieldError] = schema.validate(obj, None)
        assert not faults, faults
    return await _response(handlers[validator_path(served.resource)](request))


async def _response(answer: AdmissionResponse | Awaitable[AdmissionResponse]) -> AdmissionResponse:
    return answer if isinstance(answer, AdmissionResponse) else await answer


def _as_webhook_says(wanted: Json) -> Json:
    """Our part of the answer: not the API server's own warnings, nor how it wraps the message."""
    said = {field: value for field, value in wanted.items() if field != "reason"}
    if "message" in said:
        said["message"] = DENIED.sub("", said["message"])
    warnings = [text for text in said.pop("warnings", []) if not text.startswith(("unknown field", "duplicate field"))]
    return {**said, "warnings": warnings} if warnings else said


def _keep(stores: dict[Resource, Store[Runtime]], obj: Json) -> None:
    served = served_kinds()[obj["kind"]]
    stored = copy.deepcopy(obj)
    served.kind.schema().default(stored)
    if not served.resource.namespaced:
        del stored["metadata"]["namespace"]
    stores[served.resource].put(msgspec.convert(stored, Runtime))
