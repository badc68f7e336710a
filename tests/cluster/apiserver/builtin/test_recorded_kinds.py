"""Built-in kinds answer as a real kube-apiserver 1.36 does: every case in cases/ was recorded by record.py."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from shunter.api.meta import Json
from shunter.cluster.apiserver.builtin import kinds as builtin_kinds
from shunter.kube.merge_patch import merge_patch

if TYPE_CHECKING:
    from cluster.apiserver.builtin.conftest import Write

CASES = [
    pytest.param(case, id=f"{path.stem}: {case['name']}")
    for path in sorted((Path(__file__).parent / "cases").glob("*.yaml"))
    for case in yaml.load(path.read_text(), yaml.CSafeLoader)
]
NUMBERED = ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields")
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
OBJECT = re.compile(r"Invalid value: \{.*?\}: (?=[`a-z])")
NOW = "2026-11-21T10:00:00Z"
FAULT = re.compile(r"(?:, |: \[|\]$)(?=[A-Za-z.<]|$)")


def patched(old: Json, patch: Json) -> Json:
    changed: Json = merge_patch(json.loads(json.dumps(old)), patch)
    return changed


def stored(obj: Json) -> Json:
    metadata = {name: value for name, value in obj["metadata"].items() if name not in NUMBERED}
    shown: Json = json.loads(UUID.sub("<uid>", json.dumps({**obj, "metadata": metadata}).replace(NOW, "<time>")))
    return shown


def faults(message: str) -> set[str]:
    """A message without the order of its faults (Go ranges over maps), objects in Go's internal form, and Go's diffs."""
    text = message.partition("\n@@")[0].replace("Event.events.k8s.io", "Event")
    return set(FAULT.split(OBJECT.sub("Invalid value: <object>: ", text)))


def ours(wanted: Json) -> Json:
    """Left out here is what only a real cluster's controllers would lift again: protection finalizers, the first taint."""
    if wanted["kind"].startswith("PersistentVolume"):
        wanted["metadata"].pop("finalizers", None)
    wanted.get("status", {}).pop("lastPhaseTransitionTime", None)
    wanted.get("spec", {}).pop("taints", None)
    return wanted


@pytest.mark.parametrize("case", CASES)
def test_answers_as_the_real_api_server_does(case: Json, write: Write) -> None:
    wanted = case["answer"]
    if "write" in case:
        answer = write(case["write"])
    else:
        created = write(case["onto"])
        assert created.object is not None, created.message
        is_status = "status" in case
        changes = {"status": case["status"]} if is_status else case["patch"]
        answer = write(patched(created.object, changes), created.object, status=is_status)
    assert answer.code == wanted["code"], answer.message
    if "message" in wanted:
        assert faults(UUID.sub("<uid>", answer.message)) == faults(wanted["message"])
    else:
        assert answer.object is not None
        assert stored(answer.object) == ours(wanted["object"])


def test_every_kind_has_a_schema() -> None:
    assert all(kind.schema().openapi for kind in builtin_kinds())
