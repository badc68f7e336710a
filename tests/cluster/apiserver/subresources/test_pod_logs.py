"""Logs come from the pod's node, as the node gives them."""

from __future__ import annotations

from pathlib import Path

from aiohttp import web

from cluster.api_server import RunningApiServer
from cluster.apiserver.http_client import Api
from cluster.apiserver.tls_server import serving


async def test_logs_are_streamed_from_the_node(api: Api, api_server: RunningApiServer, tmp_path: Path, namespace: str) -> None:
    asked: list[str] = []

    async def node(request: web.BaseRequest) -> web.StreamResponse:
        asked.append(request.path_qs)
        if "previous" in request.query:
            return web.Response(status=400, text='previous terminated container "c" in pod "p" not found')
        response = web.StreamResponse()
        await response.prepare(request)
        for line in (b"one\n", b"two\n"):
            await response.write(line)
        return response

    async with serving(api_server, node, tmp_path, client_certificates=True) as port:
        await api.create("/api/v1/nodes", {"metadata": {"name": f"node-{namespace}"}})
        status = {
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
        }
        await api.merge(f"/api/v1/nodes/node-{namespace}/status", {"status": status})
        pods = f"/api/v1/namespaces/{namespace}/pods"
        await api.create(pods, {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "x"}]}})
        early = await api.request("GET", f"{pods}/p/log")
        binding = {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": f"node-{namespace}"}}
        await api.create(f"{pods}/p/binding", binding)
        log = await api.request("GET", f"{pods}/p/log?follow=true&tailLines=10&timestamps=true&pretty=true")
        previous = await api.request("GET", f"{pods}/p/log?previous=true&container=c")
    assert early.code == 204
    assert (log.code, log.body) == (200, "one\ntwo\n")
    assert asked[0] == f"/containerLogs/{namespace}/p/c?follow=true&tailLines=10&timestamps=true"
    assert (previous.code, previous.body["reason"]) == (400, "BadRequest")
    assert previous.body["message"] == 'previous terminated container "c" in pod "p" not found'
