"""Plays the requests of a case file against an API server and brings the answers into a comparable form.

A case is a YAML file: `requests` (method, path, body, content type, headers) and the `answer` that a real kube-apiserver 1.36
gave to each, recorded with

    python tests/cluster/apiserver/recorded_answers.py KUBECONFIG CASE.yaml...

`{ns}` in a request stands for a namespace that is made for the case. Uids, times, revisions, random names and the order of keys
in an object inside a message differ from run to run and are replaced; a fault that is listed twice counts once.
"""

from __future__ import annotations

import asyncio
import base64
import json
import re
import ssl
import sys
import tempfile
from pathlib import Path
from typing import Any

import aiohttp
import yaml

Json = dict[str, Any]

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_REVISION = re.compile(r'(resourceVersion\\*": ?\\*"|record \(|current: |too old resource version: \d+ \()\d+')
_OBJECT = re.compile(r'Invalid value: "\{.*\}": ')
_UNSTABLE = ("continue", "description")


async def play(session: aiohttp.ClientSession, case: Json, namespace: str) -> list[Json]:
    """The normalised answer to each request of the case, in order."""
    return [await _answer(session, request, namespace) for request in case["requests"]]


async def _answer(session: aiohttp.ClientSession, request: Json, namespace: str) -> Json:
    body = request.get("body")
    text = body if isinstance(body, str) or body is None else json.dumps(body, separators=(",", ":"))
    headers = {"User-Agent": "recorder/1", **request.get("headers", {})}
    if text is not None:
        headers["Content-Type"] = request.get("type", "application/json")
        text = text.replace("{ns}", namespace)
    path = request["path"].replace("{ns}", namespace)
    async with session.request(
        request["method"], path, data=text, headers=headers, skip_auto_headers=["Content-Type"]
    ) as response:
        raw = (await response.read()).decode()
        answer: Json = {"code": response.status}
        if warnings := response.headers.getall("Warning", []):
            answer["warnings"] = [str(_normal(warning, namespace)) for warning in warnings]
    if response.content_type == "application/json" and "\n{" not in raw.strip():
        answer["body"] = _normal(json.loads(raw), namespace)
    else:
        lines = [line for line in raw.split("\n") if line]
        answer["lines"] = [_normal(json.loads(line) if line.startswith("{") else line, namespace) for line in lines]
    return answer


def _normal(value: Any, namespace: str) -> Any:
    if isinstance(value, dict):
        random = value.get("generateName")
        return {
            name: "<revision>"
            if name == "resourceVersion"
            else "<random>"
            if name == "name" and random
            else _normal(part, namespace)
            for name, part in value.items()
            if name not in _UNSTABLE
        }
    if isinstance(value, list):
        parts = [_normal(part, namespace) for part in value]
        return [part for index, part in enumerate(parts) if part not in parts[:index]]
    if isinstance(value, str):
        value = _UUID.sub("<uid>", _TIME.sub("<time>", value.replace(namespace, "{ns}")))
        return _OBJECT.sub("Invalid value: <object>: ", _REVISION.sub(r"\1<revision>", value))
    return value


async def _record(kubeconfig: Path, cases: list[Path]) -> None:
    config = yaml.safe_load(kubeconfig.read_text())
    cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
    context = ssl.create_default_context(cadata=base64.b64decode(cluster["certificate-authority-data"]).decode())
    context.check_hostname = False
    with tempfile.NamedTemporaryFile() as certificate:
        certificate.write(base64.b64decode(user["client-certificate-data"]))
        certificate.write(base64.b64decode(user["client-key-data"]))
        certificate.flush()
        context.load_cert_chain(certificate.name)
    async with aiohttp.ClientSession(cluster["server"], connector=aiohttp.TCPConnector(ssl=context)) as session:
        for path in cases:
            case = yaml.safe_load(path.read_text())
            namespace = f"rec-{path.stem}"
            await session.post("/api/v1/namespaces", json={"metadata": {"name": namespace}})
            for crd in case.get("definitions", ()):
                await session.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", json=crd)
                await asyncio.sleep(2)
            for request, answer in zip(case["requests"], await play(session, case, namespace), strict=True):
                request["answer"] = answer
            path.write_text(yaml.safe_dump(case, sort_keys=False, width=150, allow_unicode=True))
            for crd in case.get("definitions", ()):
                name = crd["metadata"]["name"]
                await session.delete(f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}")
            await session.delete(f"/api/v1/namespaces/{namespace}")


if __name__ == "__main__":
    asyncio.run(_record(Path(sys.argv[1]), [Path(argument) for argument in sys.argv[2:]]))
