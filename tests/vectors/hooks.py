"""The webhooks of the cases: an HTTPS server, on record and on replay, that answers as a case says and keeps the questions."""

from __future__ import annotations

import asyncio
import base64
import json
import ssl
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from aiohttp import web

from shunter.kube.tls.certificates import issue, new_authority

Json = dict[str, Any]


class Hooks:
    """Answers `https://127.0.0.1:PORT/NAMESPACE/HOOK`."""

    def __init__(self) -> None:
        self.port = 0
        self.bundle = ""
        self._answers: dict[tuple[str, str], Json] = {}
        self._asked: dict[tuple[str, str], list[Json]] = {}

    def prepare(self, namespace: str, answers: Json) -> None:
        """What the hooks of one case answer: a review's `response` (`patch` as a list), or `code` and `text`, after `seconds`."""
        for name, answer in answers.items():
            self._answers[namespace, name] = answer

    def asked(self, namespace: str, name: str) -> list[Json]:
        """The reviews that one hook was sent since it was asked last."""
        return self._asked.pop((namespace, name), [])

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        _, namespace, name = request.path.split("/")
        review = json.loads(await request.read())
        self._asked.setdefault((namespace, name), []).append(review)
        answer = self._answers[namespace, name]
        await asyncio.sleep(answer.get("seconds", 0))
        if "text" in answer or "code" in answer:
            return web.Response(text=answer.get("text", ""), status=answer.get("code", 200))
        response = {"uid": review["request"]["uid"], "allowed": True, **answer.get("response", {})}
        if isinstance(response.get("patch"), list):
            response["patch"] = base64.b64encode(json.dumps(response["patch"]).encode()).decode()
            response.setdefault("patchType", "JSONPatch")
        return web.json_response({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response})


@asynccontextmanager
async def serving() -> AsyncIterator[Hooks]:
    """Serves on a free port."""
    hooks = Hooks()
    authority = new_authority("vectors")
    pair = issue(authority, "hooks", ["127.0.0.1"])
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    with tempfile.TemporaryDirectory() as directory:
        (Path(directory) / "tls.pem").write_bytes(pair.certificate + pair.key)
        context.load_cert_chain(Path(directory) / "tls.pem")
    runner = web.ServerRunner(web.Server(hooks.handle))
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context)
    await site.start()
    hooks.port = runner.addresses[0][1]
    hooks.bundle = base64.b64encode(authority.certificate).decode()
    try:
        yield hooks
    finally:
        await runner.cleanup()
