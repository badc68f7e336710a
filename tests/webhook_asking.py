"""Asks the operator's webhook server as an API server does, without a network: reviews in, verdicts out."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from shunter.api.meta import Json
from shunter.api.resources import CLUSTER_TRAINING_RUNTIMES, TRAINING_RUNTIMES, Resource
from shunter.kube.cache.store import Store
from shunter.kube.client import Client
from shunter.kube.errors import NotFound, Status
from shunter.kube.tls.certificates import KeyPair
from shunter.kube.webhooks.server import WebhookServer
from shunter.operator.trainer.admission import TrainerAdmission
from shunter.operator.trainer.views import Runtime
from shunter.operator.training.admission import routes


class Question(NamedTuple):
    """What the server reads of a request."""

    path: str
    body: bytes
    is_too_large: bool = False


class Reply(NamedTuple):
    status: int
    """Of the HTTP answer."""
    allowed: bool
    code: int
    message: str
    warnings: tuple[str, ...]


class Nothing(Client):
    """An API server that has nothing beside what the caches hold."""

    def __init__(self) -> None:
        pass

    async def get(self, resource: Resource, name: str, *arguments: object, **options: object) -> Any:
        raise NotFound(Status(code=404, reason="NotFound", message="not found"))

    async def raw(self, *arguments: object, **options: object) -> bytes:
        raise NotFound(Status(code=404, reason="NotFound", message="not found"))


class Webhooks:
    """All webhooks of both generations; `keep` puts a runtime into their caches."""

    def __init__(self) -> None:
        self._runtimes: dict[Resource, Store[Runtime]] = {TRAINING_RUNTIMES: Store(), CLUSTER_TRAINING_RUNTIMES: Store()}
        trainer = TrainerAdmission(Nothing(), self._runtimes, Store(), Store())
        self._server = WebhookServer("127.0.0.1", 0, KeyPair(b"", b""), {**routes(), **trainer.routes()})

    def keep(self, runtime: Json) -> None:
        resource = TRAINING_RUNTIMES if runtime["kind"] == TRAINING_RUNTIMES.kind else CLUSTER_TRAINING_RUNTIMES
        self._runtimes[resource].put(msgspec.convert(runtime, Runtime))

    async def review(self, path: str, obj: Json, old: Json | None = None) -> Reply:
        """A create, or an update of `old`."""
        request = {"uid": "u-1", "operation": "CREATE" if old is None else "UPDATE", "object": obj, "oldObject": old}
        body = msgspec.json.encode({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request})
        answer = await self._server.answer(Question(path, body))  # type: ignore[arg-type]
        if answer.status != 200:
            return Reply(answer.status, False, answer.status, answer.body.decode(), ())
        response = msgspec.json.decode(answer.body)["response"]
        status = response.get("status") or {}
        return Reply(
            200, response["allowed"], status.get("code", 200), status.get("message", ""), tuple(response.get("warnings", ()))
        )
