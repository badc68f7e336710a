"""Records what a real kube-apiserver, run without controllers, answers to the cases in cases/*.yaml:

    PYTHONPATH=tests python tests/cluster/apiserver/builtin/record.py KUBECONFIG [CASES.yaml...]

A case has a `write`, or an `onto` (created first) and what the update changes of it: `patch` (JSON merge patch), or `status`
(merge patch of the status). `answer` is the code, and the refusal's message or the stored object without what the server numbers.
"""

from __future__ import annotations

import json
import re
import sys
import time
from pathlib import Path
from typing import Any

import yaml

from cluster.apiserver.real_server import Server
from shunter.cluster.apiserver import builtin

Json = dict[str, Any]
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
NUMBERED = ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "selfLink")
RESOURCES = {(kind.resource.api_version, kind.resource.kind): kind.resource for kind in builtin.kinds()}


def answer(code: int, body: Json) -> Json:
    if code >= 400:
        return {"code": code, "message": UUID.sub("<uid>", body.get("message", ""))}
    metadata = {name: value for name, value in body["metadata"].items() if name not in NUMBERED}
    text = json.dumps({**body, "metadata": metadata}).replace(body["metadata"].get("creationTimestamp", "?"), "<time>")
    return {"code": code, "object": json.loads(UUID.sub("<uid>", text))}


def play(server: Server, case: Json) -> Json:
    manifest = case.get("onto") or case["write"]
    resource = RESOURCES[manifest["apiVersion"], manifest["kind"]]
    collection = resource.path("default")
    if "write" in case:
        return answer(*server.send("POST", collection + "?dryRun=All", manifest))
    code, created = server.send("POST", collection, manifest)
    assert code == 201, (case["name"], created)
    path = resource.path("default", created["metadata"]["name"])
    try:
        kind = "application/merge-patch+json"
        if "status" in case:
            return answer(*server.send("PATCH", path + "/status", {"status": case["status"]}, kind))
        return answer(*server.send("PATCH", path, case["patch"], kind))
    finally:
        server.send("PATCH", path, {"metadata": {"finalizers": None}}, "application/merge-patch+json")
        server.send("DELETE", path + "?gracePeriodSeconds=0&propagationPolicy=Background")
        for _ in range(50):
            if server.send("GET", path)[0] == 404:
                break
            time.sleep(0.1)


def main() -> None:
    server = Server(Path(sys.argv[1]))
    files = [Path(name) for name in sys.argv[2:]] or sorted(Path(__file__).parent.glob("cases/*.yaml"))
    for path in files:
        cases = yaml.safe_load(path.read_text())
        for case in cases:
            case["answer"] = play(server, case)
        path.write_text(yaml.safe_dump(cases, sort_keys=False, width=130, default_flow_style=None, allow_unicode=True))


if __name__ == "__main__":
    main()
