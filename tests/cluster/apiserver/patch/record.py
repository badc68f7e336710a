"""Asks a real kube-apiserver about every patch in cases.yaml and some random ones, and keeps the answers in vectors/.

KUBECONFIG=... PYTHONPATH=tests .venv/bin/python tests/cluster/apiserver/patch/record.py
"""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any

import yaml

from cluster.apiserver.apply.record import Server

HERE = Path(__file__).parent
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
CONTENT_TYPES = {"strategic": "application/strategic-merge-patch+json", "json": "application/json-patch+json"}
RANDOM_PATCHES = 150
UNSTABLE = ("uid", "resourceVersion", "creationTimestamp", "managedFields", "generation")


def random_patch(seed: int) -> Any:
    """A strategic merge patch of the lists of a pod template."""
    dice = random.Random(seed)

    def some(*names: str) -> list[str]:
        return dice.sample(names, dice.randint(0, len(names)))

    def items(key: str, names: list[str], value: Any) -> list[Any]:
        chosen = []
        for name in names:
            fate = dice.random()
            chosen.append({key: name, "$patch": "delete"} if fate < 0.25 else {key: name, **value(name)})
        if dice.random() < 0.1:
            chosen.append({"$patch": "replace"})
        return chosen

    def ordered(field: str, key: str, names: list[str], value: Any, existing: list[str]) -> Any:
        patch = {field: items(key, names, value)} if dice.random() < 0.8 else {}
        if dice.random() < 0.6:
            order = [item[key] for item in patch.get(field, []) if "$patch" not in item]
            for name in dice.sample(existing, dice.randint(0, len(existing))):
                if name not in order:
                    order.insert(dice.randint(0, len(order)), name)
            patch[f"$setElementOrder/{field}"] = [{key: name} for name in order]
        return patch

    def container(name: str) -> Any:
        return {"image": f"{name}:9"} | ordered(
            "env", "name", some("A", "B", "C", "D"), lambda _: {"value": "9"}, ["A", "B", "C"]
        )

    template = ordered("containers", "name", some("first", "second", "third", "new"), container, ["first", "second", "third"])
    template |= ordered("volumes", "name", some("v", "x"), lambda _: {"emptyDir": {}}, ["v", "w"])
    metadata: Any = {}
    if dice.random() < 0.5:
        metadata["finalizers"] = [f"x.example/{name}" for name in some("a", "c", "d")]
    if dice.random() < 0.5:
        metadata["$deleteFromPrimitiveList/finalizers"] = [f"x.example/{name}" for name in some("b", "e")]
    if dice.random() < 0.5:
        kept = list(metadata.get("finalizers", []))
        metadata["$setElementOrder/finalizers"] = kept + [name for name in ["x.example/c", "x.example/b"] if name not in kept]
    return {"metadata": metadata, "spec": {"template": {"spec": template}}}


def stable(answer: Any) -> Any:
    """Less what differs between two recordings, also where a refusal repeats the whole object."""
    if "metadata" in answer:
        answer["metadata"] = {name: value for name, value in answer["metadata"].items() if name not in UNSTABLE}
    if "is invalid: patch: Invalid value" in answer.get("message", ""):
        answer = {name: answer[name] for name in ("code", "reason")} | {"message": "", "details": {}}
    return answer


def main() -> None:
    server = Server(Path(os.environ["KUBECONFIG"]))
    cases = yaml.safe_load((HERE / "cases.yaml").read_text())
    name = cases["document"]["metadata"]["name"]
    server.ask("PATCH", f"{DEPLOYMENTS}/{name}", {"metadata": {"finalizers": None}}, "application/merge-patch+json")
    server.ask("DELETE", f"{DEPLOYMENTS}/{name}")
    code, document = server.ask("POST", DEPLOYMENTS, cases["document"])
    assert code == 201, document
    cases["strategic"] += [random_patch(seed) for seed in range(RANDOM_PATCHES)]
    for format, content_type in CONTENT_TYPES.items():
        lines = []
        for patch in cases[format]:
            code, answer = server.ask("PATCH", f"{DEPLOYMENTS}/{name}?dryRun=All", patch, content_type)
            lines.append(
                json.dumps({"patch": patch, "code": code, "answer": stable(answer)}, separators=(",", ":"), sort_keys=True)
            )
        shown = json.dumps(stable(json.loads(json.dumps(document))), separators=(",", ":"), sort_keys=True)
        recorded = ",\n".join(lines)
        (HERE / "vectors" / f"{format}.json").write_text(f'{{"document":{shown},\n"cases":[\n{recorded}\n]}}\n')
        print(format, len(lines))


if __name__ == "__main__":
    main()
