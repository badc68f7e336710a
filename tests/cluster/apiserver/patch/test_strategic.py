"""Strategic merge patches do to pods and Jobs what kubectl's copy of Kubernetes' library does."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from shunter.api.meta import Json
from shunter.cluster.apiserver.packaged_schemas import definition_names, definitions
from shunter.cluster.apiserver.patch.errors import PatchError
from shunter.cluster.apiserver.patch.strategic import apply

pytestmark = pytest.mark.integration

KUBECTL = shutil.which("kubectl", path=Path(sys.executable).parent) or "kubectl"
KINDS = {"Pod": ("", "v1", "Pod"), "Job": ("batch", "v1", "Job")}


def containers(*names: str, **more: Any) -> list[Json]:
    return [{"name": name, **more} for name in names]


def pod_spec(chance: random.Random, *, patch: bool) -> Json:
    """Some fields of a pod: each kind of list, maps, and in patches directives and nulls as well."""

    def some(letters: str) -> list[str]:
        return chance.sample(letters, chance.randint(1, len(letters)))

    env = [{"name": name, "value": chance.choice(["1", "2"])} for name in some("XYZW")]
    fields: dict[str, Any] = {
        "containers": [
            {
                "name": name,
                "image": chance.choice(["i:1", "i:2"]),
                "env": env,
                "ports": [{"containerPort": port, "protocol": "TCP"} for port in chance.sample([1, 2, 3], 2)],
                "args": some("mn"),
                "volumeMounts": [{"mountPath": f"/{path}", "name": chance.choice("vw")} for path in some("pq")],
            }
            for name in some("abcd")
        ],
        "tolerations": [{"key": key, "operator": "Exists"} for key in some("tu")],
        "volumes": [{"name": name, "emptyDir": {"medium": "Memory"}} for name in some("vw")],
        "nodeSelector": {key: chance.choice(["", "x"]) for key in some("kl")},
        "imagePullSecrets": containers(*some("rs")),
        "hostAliases": [{"ip": ip, "hostnames": some("hi")} for ip in some("12")],
        "priorityClassName": chance.choice("yz"),
    }
    if patch:
        fields = {name: fields[name] for name in chance.sample(sorted(fields), chance.randint(1, 5))}
        if "nodeSelector" in fields:
            fields["nodeSelector"][chance.choice("kl")] = None
        if "volumes" in fields:
            fields["volumes"][0] = {
                "name": fields["volumes"][0]["name"],
                "$retainKeys": ["name", "hostPath"],
                "hostPath": {"path": "/x"},
            }
        if "containers" in fields:
            changed = fields["containers"]
            for name in ("env", "args", "image", "ports"):
                if chance.random() < 0.5:
                    changed[0].pop(name)
            choice = chance.randrange(5)
            if choice == 0:
                changed.append({"name": chance.choice("efgh"), "$patch": "delete"})
            elif choice == 1 and len(changed) > 1:
                changed[-1] = {"name": changed[-1]["name"], "$patch": "delete"}
            elif choice == 2:
                changed.append({"$patch": "replace"})
            elif choice == 3:
                fields["$setElementOrder/containers"] = [{"name": one["name"]} for one in changed]
            elif choice == 4:
                changed.append({"name": "a", "$patch": "unknown"})
        if chance.random() < 0.2:
            fields["priorityClassName"] = None
    return fields


def an_object(kind: str, chance: random.Random, number: int) -> Json:
    metadata = {"name": f"o-{number}", "labels": {"a": "1"}, "finalizers": ["e.com/a", "e.com/b"]}
    spec = {**pod_spec(chance, patch=False), "restartPolicy": "Never"}
    if kind == "Pod":
        return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
    job = {"template": {"spec": spec}, "completions": 2}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": job}


def a_patch(kind: str, chance: random.Random) -> Json:
    spec = pod_spec(chance, patch=True)
    metadata: Json = chance.choice(
        [
            {"labels": {"a": None, "b": "2"}},
            {"finalizers": ["e.com/c", "e.com/a"]},
            {"$deleteFromPrimitiveList/finalizers": ["e.com/a"]},
            {"finalizers": None},
        ]
    )
    return {"metadata": metadata, "spec": spec if kind == "Pod" else {"template": {"spec": spec}}}


def kubectl_patched(objects: list[Json], patch: Json) -> list[Json] | None:
    """What kubectl makes of them, or None where it refuses the patch."""
    manifests = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    command = [KUBECTL, "patch", "--local", "--type=strategic", "-o", "json", "-f", "-", "-p", json.dumps(patch)]
    answer = subprocess.run(command, input=manifests, capture_output=True, text=True, check=False, timeout=60)
    if answer.returncode:
        assert "unknown patch type" in answer.stderr, answer.stderr
        return None
    found: list[Json] = []
    rest = answer.stdout.strip()
    while rest:
        one, end = json.JSONDecoder().raw_decode(rest)
        found.extend(one["items"] if one["kind"] == "List" else [one])
        rest = rest[end:].strip()
    return found


def without_empty(value: Any) -> Any:
    """Without what Go's types add or leave out: empty objects, lists and nulls."""
    if isinstance(value, dict):
        parts = {name: without_empty(part) for name, part in value.items() if name != "status"}
        return {name: part for name, part in parts.items() if part not in (None, {}) and part != []}
    return [without_empty(part) for part in value] if isinstance(value, list) else value


def patched(document: Json, patch: Json, kind: str) -> Json | None:
    try:
        return apply(document, patch, definitions()[definition_names()[KINDS[kind]]], definitions())
    except PatchError:
        return None


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(20))
def test_a_patch_does_what_it_does_in_kubectl(kind: str, seed: int) -> None:
    chance = random.Random(f"{kind} {seed}")
    patch = a_patch(kind, chance)
    objects = [an_object(kind, chance, number) for number in range(12)]
    expected = kubectl_patched(objects, patch)
    ours = [patched(one, patch, kind) for one in objects]
    if expected is None:
        assert ours == [None] * len(objects)
    else:
        assert without_empty(ours) == without_empty(expected)
