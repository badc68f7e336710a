"""Asks a real kube-apiserver everything in cases.yaml and some random questions, and keeps the answers in vectors/.

    KUBECONFIG=... .venv/bin/python tests/cluster/apiserver/apply/record.py

Times, uids, resource versions and addresses are replaced by small stable ones, so that recording again shows real
differences only. Each vector is one object's history: a list of requests with their answers, in order.
"""

from __future__ import annotations

import base64
import http.client
import json
import os
import random
import re
import ssl
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import yaml

HERE = Path(__file__).parent
RESOURCES = {
    "ConfigMap": ("v1", "configmaps"),
    "Secret": ("v1", "secrets"),
    "Namespace": ("v1", "namespaces"),
    "Pod": ("v1", "pods"),
    "Service": ("v1", "services"),
    "ServiceAccount": ("v1", "serviceaccounts"),
    "PersistentVolumeClaim": ("v1", "persistentvolumeclaims"),
    "Deployment": ("apps/v1", "deployments"),
    "Job": ("batch/v1", "jobs"),
    "Role": ("rbac.authorization.k8s.io/v1", "roles"),
    "Lease": ("coordination.k8s.io/v1", "leases"),
    "Gadget": ("vectors.example/v1", "gadgets"),
}
CONTENT_TYPES = {
    "create": "application/json",
    "update": "application/json",
    "apply": "application/apply-patch+yaml",
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "json": "application/json-patch+json",
}
VERBS = tuple(CONTENT_TYPES)
RANDOM_CASES = 60
NOW = re.compile(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")


class Server:
    """A connection as the kubeconfig's admin."""

    def __init__(self, kubeconfig: Path) -> None:
        config = yaml.safe_load(kubeconfig.read_text())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        self.address = cluster["server"].removeprefix("https://")
        self.context = ssl.create_default_context(cadata=base64.b64decode(cluster["certificate-authority-data"]).decode())
        with tempfile.NamedTemporaryFile() as pem:
            pem.write(base64.b64decode(user["client-certificate-data"]) + base64.b64decode(user["client-key-data"]))
            pem.flush()
            self.context.load_cert_chain(pem.name)

    def ask(self, method: str, path: str, body: Any = None, content_type: str = "application/json") -> tuple[int, Any]:
        connection = http.client.HTTPSConnection(self.address, context=self.context)
        headers = {"Content-Type": content_type, "Accept": "application/json"}
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        response = connection.getresponse()
        text = response.read()
        return response.status, json.loads(text) if text.startswith(b"{") else text.decode()


def collection(kind: str) -> str:
    version, plural = RESOURCES[kind]
    root = f"/api/{version}" if "/" not in version else f"/apis/{version}"
    return f"{root}/{plural}" if kind == "Namespace" else f"{root}/namespaces/default/{plural}"


def history(server: Server, kind: str, name: str, steps: list[Any]) -> list[Any]:
    """The steps of one case with their answers. A second passes between two of them, as times have no finer grain."""
    answers = []
    live: Any = None
    for step in steps:
        time.sleep(1.1)
        verb = next(verb for verb in VERBS if verb in step)
        body = completed(step[verb], verb, kind, name, live)
        query = {"fieldManager": step["as"]} | ({"force": "true"} if step.get("force") else {})
        subresource = step.get("at", "")
        target = collection(kind) + ("" if verb == "create" else f"/{name}") + (f"/{subresource}" if subresource else "")
        method = {"create": "POST", "update": "PUT"}.get(verb, "PATCH")
        code, answer = server.ask(method, f"{target}?{urlencode(query)}", body, CONTENT_TYPES[verb])
        if subresource == "scale" and code < 300:
            _, answer = server.ask("GET", f"{collection(kind)}/{name}")
        request = {
            "verb": verb,
            "body": body,
            "manager": step["as"],
            "force": bool(step.get("force")),
            "subresource": subresource,
        }
        answers.append({**request, "code": code, "answer": answer})
        if code < 300:
            live = answer
    server.ask("DELETE", f"{collection(kind)}/{name}")
    return answers


def completed(body: Any, verb: str, kind: str, name: str, live: Any) -> Any:
    """The body as it is sent. Patches other than apply are sent as they stand."""
    body = json.loads(json.dumps(body).replace("NAME", name))
    if verb not in ("create", "update", "apply"):
        return body
    metadata = {"name": name} | ({} if kind == "Namespace" else {"namespace": "default"}) | body.get("metadata", {})
    if verb == "update":
        metadata["resourceVersion"] = live["metadata"]["resourceVersion"]
    return {"apiVersion": RESOURCES[kind][0], "kind": kind} | body | {"metadata": metadata}


def random_steps(seed: int) -> list[Any]:
    """A history of applies and merges of small specs by three managers."""
    dice = random.Random(seed)
    steps: list[Any] = [{"apply": {"spec": random_spec(dice)}, "as": "m0"}]
    for _ in range(dice.randint(3, 7)):
        verb = dice.choice(["apply", "apply", "apply", "merge"])
        steps.append(
            {verb: {"spec": random_spec(dice)}, "as": f"m{dice.randint(0, 2)}", "force": dice.random() < 0.6 and verb == "apply"}
        )
    return steps


def random_spec(dice: random.Random) -> Any:
    def some(*names: str) -> list[str]:
        return dice.sample(names, dice.randint(0, len(names)))

    def part(name: str) -> Any:
        fields = {
            "weight": dice.randint(1, 2),
            "labels": {label: dice.choice("pq") for label in some("l", "m")},
            "screws": some("s", "t"),
        }
        return {"name": name} | {field: fields[field] for field in some(*fields)}

    spec = {
        "colour": dice.choice(["red", "blue"]),
        "size": dice.choice([1, "big"]),
        "atoms": some("a", "b"),
        "tags": some("a", "b", "c", "d"),
        "parts": [part(name) for name in some("x", "y", "z")],
        "sockets": [{"port": int(port)} | ({"protocol": "UDP"} if dice.random() < 0.5 else {}) for port in some("1", "2")],
        "whole": dict.fromkeys(some("a"), "v"),
        "limits": {name: dice.choice("12") for name in some("c", "m", "n")},
        "nested": dice.choice(
            [{}, {"right": "r"}, {"left": {}}, {"left": {"deep": dice.choice("de"), "flag": True}, "right": "r"}]
        ),
        "free": dice.choice([{}, {"x": 1}, {"x": {"y": 1}, "z": [1]}, {"x": {"w": dice.choice([1, 2])}}]),
    }
    return {field: spec[field] for field in some(*spec)}


def normalised(steps: list[Any]) -> list[Any]:
    """With what differs between two recordings replaced, in the order of first appearance."""
    text = json.dumps(steps)
    moments = sorted({match[0] for match in NOW.finditer(text) if not match[0].startswith("2026-01-01")})
    text = NOW.sub(lambda match: f"2026-01-01T00:01:{moments.index(match[0]):02}Z" if match[0] in moments else match[0], text)
    for pattern, stable in ((r'"uid": "([0-9a-f-]{36})"', "uid-"), (r'"resourceVersion": "(\d+)"', "")):
        found = list(dict.fromkeys(re.findall(pattern, text)))
        for value in sorted(found, key=len, reverse=True):
            text = text.replace(f'"{value}"', f'"{stable}{found.index(value) + 1}"')
    text = re.sub(r'"10\.0\.0\.\d+"', '"10.0.0.9"', text)
    return json.loads(re.sub(r'"nodePort": \d+', '"nodePort": 30000', text))


def main() -> None:
    server = Server(Path(os.environ["KUBECONFIG"]))
    server.ask(
        "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", yaml.safe_load((HERE / "gadget.yaml").read_text())
    )
    while server.ask("GET", collection("Gadget"))[0] != 200:
        time.sleep(0.1)
    cases = yaml.safe_load((HERE / "cases.yaml").read_text())
    questions = [(kind, title, steps) for kind, group in cases.items() for title, steps in group.items()]
    questions += [("Gadget", f"random history {seed}", random_steps(seed)) for seed in range(RANDOM_CASES)]
    with ThreadPoolExecutor(24) as pool:
        answers = pool.map(lambda item: history(server, item[1][0], f"case-{item[0]}", item[1][2]), enumerate(questions))
    vectors: dict[str, Any] = {}
    for (kind, title, _), steps in zip(questions, answers, strict=True):
        group = "random" if title.startswith("random") else kind.lower()
        vectors.setdefault(group, []).append(
            {"title": f"{kind}: {title}", "kind": kind, "apiVersion": RESOURCES[kind][0], "steps": normalised(steps)}
        )
    for group, histories in vectors.items():
        lines = ",\n".join(json.dumps(one, separators=(",", ":"), sort_keys=True) for one in histories)
        (HERE / "vectors" / f"{group}.json").write_text(f"[\n{lines}\n]\n")
        print(group, len(histories))


if __name__ == "__main__":
    main()
