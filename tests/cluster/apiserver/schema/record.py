"""Records what a real kube-apiserver answers to the cases of cases/*.yaml:

    PYTHONPATH=tests python tests/cluster/apiserver/schema/record.py KUBECONFIG [CASES.yaml...]

A file with `schema` holds the spec's schema of a custom kind; a case has a `spec` to create, and one to update it `to`. A file
without holds whole `definition`s. `answer` is the code, and the refusal's message or the stored spec.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import yaml

from cluster.apiserver.real_server import Server

Json = dict[str, Any]
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
THINGS = "/apis/cases.shunter.example/v1/namespaces/default/things"


def definition(schema: Json, **root: Any) -> Json:
    """A definition of Things whose spec has this schema."""
    openapi = {"type": "object", "properties": {"spec": schema, "status": {"type": "object"}}, **root}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.cases.shunter.example"},
        "spec": {
            "group": "cases.shunter.example",
            "scope": "Namespaced",
            "names": {"plural": "things", "kind": "Thing"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": openapi}}],
        },
    }


def thing(spec: Any) -> Json:
    """A Thing with this spec."""
    return {"apiVersion": "cases.shunter.example/v1", "kind": "Thing", "metadata": {"name": "t"}, "spec": spec}


def answer(code: int, body: Json) -> Json:
    return {"code": code, "message": body["message"]} if code >= 400 else {"code": code, "spec": body.get("spec")}


def play(server: Server, case: Json) -> Json:
    if "to" not in case:
        return answer(*server.send("POST", THINGS + "?dryRun=All", thing(case["spec"])))
    code, created = server.send("POST", THINGS, thing(case["spec"]))
    assert code == 201, (case["name"], created)
    try:
        return answer(*server.send("PUT", THINGS + "/t", {**created, "spec": case["to"]}))
    finally:
        server.send("DELETE", THINGS + "/t")


def record(server: Server, path: Path) -> None:
    content = yaml.safe_load(path.read_text())
    if "schema" in content:
        code, body = server.send("POST", DEFINITIONS, definition(content["schema"], **content.get("root", {})))
        assert code == 201, body
        while server.send("GET", THINGS)[0] != 200:
            time.sleep(0.1)
        time.sleep(1)
    try:
        for case in content["cases"]:
            if "definition" in case:
                code, body = server.send("POST", DEFINITIONS + "?dryRun=All", case["definition"])
                case["answer"] = {"code": code} | ({"message": body["message"]} if code >= 400 else {})
            else:
                case["answer"] = play(server, case)
    finally:
        server.send("DELETE", DEFINITIONS + "/things.cases.shunter.example")
        while "schema" in content and server.send("GET", DEFINITIONS + "/things.cases.shunter.example")[0] == 200:
            time.sleep(0.1)
    path.write_text(yaml.safe_dump(content, sort_keys=False, width=130, default_flow_style=None, allow_unicode=True))


if __name__ == "__main__":
    files = [Path(name) for name in sys.argv[2:]] or sorted(Path(__file__).parent.glob("cases/*.yaml"))
    for file in files:
        record(Server(Path(sys.argv[1])), file)
