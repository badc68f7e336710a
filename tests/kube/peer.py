"""A small API server for one test: real HTTP, a few rules, and knobs for what a real one does only on bad days.

Knows any resource. What it implements behaves as kube-apiserver does (checked against 1.36): paging, watches with bookmarks and
streaming lists, 410, preconditions, merge patches, apply as create-or-merge.
"""

import asyncio
import itertools
import re
import uuid
from typing import Any

import msgspec
from aiohttp import web

from shunter.kube.merge_patch import merge_patch

Json = dict[str, Any]

PATH = re.compile(
    r"^(?P<root>/api/v1|/apis/[^/]+/[^/]+)(?:/namespaces/(?P<namespace>[^/]+)(?=/))?/(?P<plural>[^/]+)(?:/(?P<name>[^/]+))?(?:/(?P<sub>[^/]+))?$"
)


class RefusalError(Exception):
    def __init__(self, code: int, reason: str, message: str) -> None:
        self.status: Json = {
            "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, "message": message,
        }  # fmt: skip


class Peer:
    def __init__(self) -> None:
        self.objects: dict[tuple[str, str, str], Json] = {}
        """By collection (`/api/v1/pods`), namespace and name."""
        self.history: list[tuple[int, str, str, Json]] = []
        """Every change: revision, collection, type, object."""
        self.revision = itertools.count(100)
        self.last = 99
        self.compacted = 0
        """Watches and pages from before this revision get 410."""
        self.has_watch_list = True
        self.tokens_last = True
        """Whether a continue token still holds when it is used."""
        self.served: set[str] | None = None
        """Collections that exist; None for all."""
        self.requests: list[tuple[str, str, dict[str, str]]] = []
        self.held: set[str] = set()
        """Collections whose watches send nothing for now: a stale cache. Empty it by `release`."""
        self._news = asyncio.Condition()
        self._runner: web.ServerRunner | None = None
        self._hang_up = 0
        self.url = ""

    async def start(self, port: int = 0) -> None:
        self._runner = web.ServerRunner(web.Server(self._serve, access_log=None), shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", port).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"

    async def stop(self) -> None:
        if self._runner:
            await self.end_watches()
            await self._runner.cleanup()
            self._runner = None

    async def end_watches(self) -> None:
        """Closes all watches cleanly, as a server that shuts down does."""
        self._hang_up += 1
        async with self._news:
            self._news.notify_all()

    async def release(self) -> None:
        """Lets all watches send what they held back."""
        self.held.clear()
        async with self._news:
            self._news.notify_all()

    async def put(self, collection: str, obj: Json) -> Json:
        """Stores an object as it is, past all rules."""
        metadata = obj.setdefault("metadata", {})
        key = (collection, metadata.get("namespace", ""), metadata["name"])
        kind = "MODIFIED" if key in self.objects else "ADDED"
        metadata.setdefault("uid", self.objects[key]["metadata"]["uid"] if key in self.objects else str(uuid.uuid4()))
        await self._commit(kind, collection, key, obj)
        return obj

    async def remove(self, collection: str, namespace: str, name: str) -> None:
        key = (collection, namespace, name)
        await self._commit("DELETED", collection, key, dict(self.objects[key], metadata=dict(self.objects[key]["metadata"])))

    def forget_history(self) -> None:
        """Compacts: whoever resumes from before now gets 410."""
        self.compacted = self.last + 1
        next(self.revision)
        self.last += 1
        self.history.clear()

    async def _commit(self, kind: str, collection: str, key: tuple[str, str, str], obj: Json) -> None:
        self.last = next(self.revision)
        obj["metadata"]["resourceVersion"] = str(self.last)
        if kind == "DELETED":
            self.objects.pop(key, None)
        else:
            self.objects[key] = obj
        self.history.append((self.last, collection, kind, obj))
        async with self._news:
            self._news.notify_all()

    async def _serve(self, request: web.BaseRequest) -> web.StreamResponse:
        self.requests.append((request.method, request.path, dict(request.query)))
        match = PATH.match(request.path)
        assert match, request.path
        collection, namespace, name = f"{match['root']}/{match['plural']}", match["namespace"] or "", match["name"] or ""
        if self.served is not None and collection not in self.served:
            return web.Response(status=404, text="404 page not found")
        try:
            if request.query.get("watch"):
                return await self._watch(request, collection, namespace)
            body = msgspec.json.decode(await request.read() or b"null")
            answer = await self._answer(request, collection, namespace, name, body)
        except RefusalError as refusal:
            return web.Response(status=refusal.status["code"], body=msgspec.json.encode(refusal.status))
        return web.Response(body=msgspec.json.encode(answer), status=201 if request.method == "POST" else 200)

    async def _answer(self, request: web.BaseRequest, collection: str, namespace: str, name: str, body: Any) -> Json:
        key = (collection, namespace, name)
        plural = collection.rpartition("/")[2]
        if request.method == "GET" and not name:
            return self._list(request, collection, namespace)
        if request.method == "POST":
            metadata = body["metadata"]
            if "generateName" in metadata and "name" not in metadata:
                metadata["name"] = metadata["generateName"] + uuid.uuid4().hex[:5]
            metadata["namespace"] = namespace
            if (collection, namespace, metadata["name"]) in self.objects:
                raise RefusalError(409, "AlreadyExists", f'{plural} "{metadata["name"]}" already exists')
            return await self.put(collection, body)
        stored = self.objects.get(key)
        if stored is None and "apply" in request.headers.get("Content-Type", ""):
            return await self.put(collection, body)
        if stored is None:
            raise RefusalError(404, "NotFound", f'{plural} "{name}" not found')
        if request.method == "GET":
            return stored
        if request.method == "DELETE":
            uid = ((body or {}).get("preconditions") or {}).get("uid")
            if uid not in (None, stored["metadata"]["uid"]):
                raise RefusalError(409, "Conflict", f"the UID in the precondition ({uid}) does not match")
            await self.remove(collection, namespace, name)
            return {"kind": "Status", "status": "Success", "metadata": {}, "details": {"uid": stored["metadata"]["uid"]}}
        wanted = body.get("metadata", {})
        for field in ("resourceVersion", "uid"):
            if wanted.get(field, stored["metadata"][field]) != stored["metadata"][field]:
                raise RefusalError(409, "Conflict", f"Operation cannot be fulfilled on {plural} {name}: {field} differs")
        replaced = {**body, "metadata": {**stored["metadata"], **wanted}}
        merged = merge_patch(stored, body) if request.method == "PATCH" else replaced
        if merged == stored:
            return stored
        return await self.put(collection, msgspec.json.decode(msgspec.json.encode(merged)))

    def _matching(self, collection: str, namespace: str) -> list[Json]:
        found = ((key, obj) for key, obj in sorted(self.objects.items()) if key[0] == collection)
        return [obj for key, obj in found if namespace in ("", key[1])]

    def _list(self, request: web.BaseRequest, collection: str, namespace: str) -> Json:
        start, revision = 0, self.last
        if token := request.query.get("continue"):
            start, revision = (int(part) for part in token.split("-"))
            if revision < self.compacted or not self.tokens_last:
                raise RefusalError(410, "Expired", "The provided continue parameter is too old")
        limit = int(request.query.get("limit", 0))
        items = self._matching(collection, namespace)[start:]
        metadata: Json = {"resourceVersion": str(revision)}
        if limit and len(items) > limit:
            items = items[:limit]
            metadata["continue"] = f"{start + limit}-{revision}"
        return {"kind": "List", "apiVersion": "v1", "metadata": metadata, "items": items}

    async def _watch(self, request: web.BaseRequest, collection: str, namespace: str) -> web.StreamResponse:
        streaming = request.query.get("sendInitialEvents") == "true"
        if streaming and not self.has_watch_list:
            raise RefusalError(422, "Invalid", "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch")
        hang_up = self._hang_up
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        seen = int(request.query.get("resourceVersion") or self.last)
        if seen < self.compacted:
            status = {"kind": "Status", "code": 410, "reason": "Expired", "message": f"too old resource version: {seen}"}
            await response.write(msgspec.json.encode({"type": "ERROR", "object": status}) + b"\n")
            return response
        if streaming:
            for obj in self._matching(collection, namespace):
                await response.write(msgspec.json.encode({"type": "ADDED", "object": obj}) + b"\n")
            seen = self.last
            metadata = {"resourceVersion": str(seen), "annotations": {"k8s.io/initial-events-end": "true"}}
            await response.write(msgspec.json.encode({"type": "BOOKMARK", "object": {"metadata": metadata}}) + b"\n")
        while self._hang_up == hang_up:
            for revision, of, kind, obj in list(self.history):
                if revision > seen and of == collection and namespace in ("", obj["metadata"].get("namespace")):
                    await response.write(msgspec.json.encode({"type": kind, "object": obj}) + b"\n")
            seen = self.last
            async with self._news:
                while (self.last == seen or collection in self.held) and self._hang_up == hang_up:
                    await self._news.wait()
        return response
