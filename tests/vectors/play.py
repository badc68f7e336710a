"""Plays cases against an API server, real or embedded, and returns its answers in normal form."""

from __future__ import annotations

import asyncio
import json
import re
import secrets
from dataclasses import dataclass
from typing import Any

import aiohttp
import yaml

from vectors.case import Case, CaseFile, Json, long_text, request, verb
from vectors.hooks import Hooks
from vectors.normal import Normal, times

_DEADLINE = 20.0
"""Seconds until something that a case waits for must have come."""
_POLL = 0.05
_AT_ONCE = 16
_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_SLOW = ("admissionregistration.k8s.io", "apiextensions.k8s.io", "rbac.authorization.k8s.io")
_NAME = re.compile(r"\{([a-z][a-z0-9_]*)\}")


@dataclass(frozen=True, slots=True)
class Server:
    """An API server to ask. The session carries its address and credentials."""

    session: aiohttp.ClientSession
    hooks: Hooks
    stranger: aiohttp.ClientSession
    """The same without credentials."""
    caches: float = 0.0
    """Seconds after which admission, authorization and discovery know of a write that is about them."""


async def play(server: Server, file: CaseFile) -> dict[str, list[Json]]:
    """The answers to every case of the file, by the case's name."""
    for definition in file.definitions:
        await _define(server, definition)
    if file.definitions:
        await asyncio.sleep(server.caches)
    enough = asyncio.Semaphore(_AT_ONCE)
    run = secrets.token_hex(4)

    async def one(case: Case) -> list[Json]:
        async with enough:
            try:
                return await _Player(server, case, f"{file.name}-{case.number:03}-{run}").run()
            except Exception as error:
                error.add_note(f"in {case.file}/{case.name}")
                raise

    answers = await asyncio.gather(*(one(case) for case in file.cases))
    return {case.name: given for case, given in zip(file.cases, answers, strict=True)}


async def _define(server: Server, definition: Json) -> None:
    async with server.session.post(_DEFINITIONS, json=definition) as response:
        assert response.status in (201, 409), await response.text()
    spec = definition["spec"]
    path = f"/apis/{spec['group']}/{spec['versions'][0]['name']}/{spec['names']['plural']}"
    async with asyncio.timeout(_DEADLINE):
        while True:
            async with server.session.get(path) as response:
                if response.status == 200:
                    return
            await asyncio.sleep(_POLL)


class _Player:
    def __init__(self, server: Server, case: Case, namespace: str) -> None:
        self._server = server
        self._case = case
        self._namespace = namespace
        self._values = {"ns": namespace, "hook": f"https://127.0.0.1:{server.hooks.port}/{namespace}"}
        self._values["bundle"] = server.hooks.bundle
        self._watches: dict[str, aiohttp.ClientResponse] = {}
        self._normal = Normal(
            {long_text(step): "{long}" for step in case.steps if "long" in step}
            | {namespace: "{ns}", server.hooks.bundle: "{bundle}", f"127.0.0.1:{server.hooks.port}": "{hooks}"},
            timed=case.timed,
            written=times(repr(case.steps)),
        )

    async def run(self) -> list[Json]:
        await self._prepare()
        try:
            answers = [await self._answer(step) for step in self._case.steps]
        finally:
            for watch in self._watches.values():
                watch.close()
        return [self._normal(answer) for answer in answers]

    async def _prepare(self) -> None:
        namespace = self._namespace
        self._server.hooks.prepare(namespace, self._case.hooks)
        async with self._server.session.post("/api/v1/namespaces", json={"metadata": {"name": namespace}}) as response:
            assert response.status in (201, 409), await response.text()

    async def _answer(self, step: Json) -> Json:
        if self._case.timed:
            await asyncio.sleep(1.1)
        match verb(step):
            case "pause":
                await asyncio.sleep(step["pause"])
                return {}
            case "read":
                return await self._read(step)
            case "asked":
                return {"reviews": self._server.hooks.asked(self._namespace, step["asked"])}
            case "await":
                return await self._await(step)
            case "open":
                return await self._open(step)
            case _:
                try:
                    answer = await self._send(step)
                except TimeoutError:
                    return {"timeout": True}
                except aiohttp.ServerDisconnectedError:
                    return {"disconnected": True}
        return self._kept(step, answer)

    def _fill(self, text: str) -> str:
        return _NAME.sub(lambda match: self._values.get(match[1], match[0]), text)

    async def _send(self, step: Json) -> Json:
        """The answer to a request; one that asks to come again later is followed, as every client does."""
        async with asyncio.timeout(_DEADLINE):
            while True:
                answer = await self._sent(step)
                if answer["code"] != 429:
                    return answer
                await asyncio.sleep(_POLL)

    async def _sent(self, step: Json) -> Json:
        asked = request(step, self._fill)
        headers = {"User-Agent": "recorder/1", **asked.headers}
        session = self._server.session
        if "bearer" in step:
            session = self._server.stranger
            headers["Authorization"] = f"Bearer {self._fill(step['bearer'])}"
        async with session.request(
            asked.method,
            asked.path,
            data=asked.body,
            headers=headers,
            skip_auto_headers=["Content-Type"],
            timeout=aiohttp.ClientTimeout(total=_DEADLINE),
        ) as response:
            raw = (await response.read()).decode()
            answer: Json = {"code": response.status}
            if warnings := response.headers.getall("Warning", []):
                answer["warnings"] = sorted(warnings)
            media = response.headers.get("Content-Type", "")
            if retry := response.headers.get("Retry-After"):
                answer["retryAfter"] = retry
        if media != "application/json":
            answer["type"] = media
        if media.startswith("application/json") and raw:
            answer["body"] = json.loads(raw)
        elif media == "application/yaml":
            answer["body"] = yaml.safe_load(raw)
        elif raw:
            answer["text"] = raw
        self._normal.learn(answer.get("body"))
        for name, path in step.get("save", {}).items():
            self._values[name] = str(_at(answer.get("body"), path.split(".")))
        if asked.method != "GET" and any(group in asked.path for group in _SLOW) and "dryRun" not in asked.path:
            await asyncio.sleep(self._server.caches)
        return answer

    def _kept(self, step: Json, answer: Json) -> Json:
        """The part of an answer that the step compares."""
        body = answer.get("body")
        if body is not None and answer["code"] < 300:
            if "at" in step:
                at = step["at"]
                body = _at(body, at.split(".") if isinstance(at, str) else at)
            if "of" in step:
                ((path, names),) = step["of"].items()
                body = sorted(
                    (item for item in body if _at(item, path.split(".")) in names),
                    key=lambda item: names.index(_at(item, path.split("."))),
                )
            answer = {**answer, "body": body}
        return answer

    async def _await(self, step: Json) -> Json:
        """Asks until the answer is as wanted."""
        loop = asyncio.get_running_loop()
        end = loop.time() + _DEADLINE
        while True:
            answer = await self._send(step)
            if _as_wanted(step, answer):
                return self._kept(step, answer)
            if loop.time() > end:
                return {"timeout": self._kept(step, answer)}
            await asyncio.sleep(_POLL)

    async def _open(self, step: Json) -> Json:
        """Starts a watch; `read` steps take events from it."""
        asked = request(step, self._fill)
        headers = {"User-Agent": "recorder/1", **asked.headers}
        response = await self._server.session.get(asked.path, headers=headers)
        self._watches[step.get("watch", "")] = response
        answer: Json = {"code": response.status, "type": response.headers.get("Content-Type", "")}
        if response.status != 200:
            answer["body"] = await response.json()
        return answer

    async def _read(self, step: Json) -> Json:
        """The next events of a watch: a number of them, or all until it ends. Bookmarks that only tell the time are left out."""
        response = self._watches[step.get("watch", "")]
        events: list[Json] = []
        wanted = step["read"]
        try:
            async with asyncio.timeout(_DEADLINE):
                while wanted == "all" or len(events) < wanted:
                    line = await response.content.readline()
                    if not line:
                        return {"events": events, "ended": True}
                    event = json.loads(line)
                    if _is_plain_bookmark(event) and not step.get("bookmarks"):
                        continue
                    self._normal.learn(event)
                    events.append(event)
        except TimeoutError:
            return {"events": events, "timeout": True}
        last = events[-1]["object"] if events else {}
        for name, path in step.get("save", {}).items():
            self._values[name] = str(_at(last, path.split(".")))
        return {"events": events}


def _is_plain_bookmark(event: Json) -> bool:
    return event["type"] == "BOOKMARK" and not (event["object"].get("metadata") or {}).get("annotations")


def _as_wanted(step: Json, answer: Json) -> bool:
    if "gone" in step:
        return bool(answer["code"] == 404)
    if answer["code"] != 200:
        return False
    body = answer["body"]
    if "count" in step and len(body["items"]) != step["count"]:
        return False
    return _contains(body, step.get("until", {}))


def _contains(value: Any, wanted: Any) -> bool:
    """Whether all of `wanted` is in `value`; null stands for absent, and each wanted item for one of a list."""
    if isinstance(wanted, dict):
        if not isinstance(value, dict):
            return False
        return all(_contains(value.get(name), part) for name, part in wanted.items())
    if isinstance(wanted, list):
        return isinstance(value, list) and all(any(_contains(item, part) for item in value) for part in wanted)
    return bool(value == wanted)


def _at(value: Any, path: list[str]) -> Any:
    for name in path:
        if isinstance(value, list) and name.isdigit():
            value = value[int(name)] if int(name) < len(value) else None
        else:
            value = value.get(name) if isinstance(value, dict) else None
    return value
