"""What the real API server stored and refused while the Job and JobSet controllers were recorded, ours stores and refuses too.

The recordings are those of the controllers' own tests. Applied, patched and status-written Jobs and JobSets are answered with the
same words; Jobs, pods and Services that controllers created are accepted as they are and come out unchanged.
"""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

from shunter.api.meta import Json
from shunter.cluster.apiserver import crd, definitions
from shunter.cluster.apiserver.builtin.pod_resources import qos_class
from shunter.cluster.apiserver.kinds import Kind
from shunter.kube.merge_patch import merge_patch

RECORDINGS = sorted((Path(__file__).parents[3] / "recordings").glob("job*/*.yaml"))
PREPARED = ("Job", "Pod", "Service", "JobSet")
FAULT = re.compile(r"(?:, |: \[|\]$)(?=[A-Za-z.<]|$)")
OBJECT = re.compile(r"Invalid value: [\[{].*?[\]}]: (?=[`a-z])")
UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
TIME = "2026-01-01T00:00:00Z"
OWN_UID = "11111111-2222-3333-4444-555555555555"


class Step(NamedTuple):
    """One request of a recording: the object as it was before it, what was sent, what came back."""

    before: Json | None
    sent: Json
    is_status: bool
    answer: Json
    stored: Json | None


def steps(recording: Json) -> Iterator[Step]:
    objects: dict[str, Json] = {}
    for record in recording["steps"]:
        ((verb, what),) = record["step"].items()
        new, changed = record.get("new") or {}, record.get("changed") or {}
        after = {**objects, **new} | {name: {**objects.get(name, {}), **parts} for name, parts in changed.items()}
        for index, answer in enumerate(record.get("answers", ())):
            name = answer["object"]
            if verb == "apply":
                yield Step(None, what[index], False, answer, new.get(name))
            elif verb in ("patch", "status") and name in objects:
                merge = {"status": what["merge"]} if verb == "status" else what["merge"]
                sent = merge_patch(objects[name], merge)
                yield Step(objects[name], sent, verb == "status", answer, None)
        objects = {name: obj for name, obj in after.items() if name not in record.get("removed", ())}


def real(value: Json, name: str) -> Json:
    """A recorded object with uids and times again; its own uid is the one that the test's writes give."""

    def uid(found: re.Match[str]) -> str:
        return OWN_UID if found[1] == name else str(uuid.UUID(hashlib.md5(found[1].encode()).hexdigest()))

    text = json.dumps(value).replace("<time>", TIME)
    restored: Json = json.loads(re.sub(r"<uid ([^>]*)>", uid, text))
    restored["metadata"] = {"uid": OWN_UID, "namespace": "default", "creationTimestamp": TIME, **restored["metadata"]}
    if restored["kind"] == "Pod":
        restored.setdefault("status", {"phase": "Pending", "qosClass": qos_class(restored["spec"])})
    for owner in restored["metadata"].get("ownerReferences", ()):
        owner.setdefault("uid", OWN_UID)
    return restored


def faults(message: str) -> set[str]:
    """A message without uids, the order of its faults, and the objects in it, which are printed in Go's internal form."""
    text = INSTANT.sub("<time>", UID.sub("<uid>", re.sub("<uid [^>]*>", "<uid>", message)))
    return set(FAULT.split(OBJECT.sub("Invalid value: <object>: ", text)))


def priority_classes(recording: Json) -> list[Json]:
    """Those that the case has: they are objects of the cluster, not of its namespace."""
    applied = [manifest for record in recording["steps"] for manifest in record["step"].get("apply", ())]
    return [manifest for manifest in applied if manifest["kind"] == "PriorityClass"]


@pytest.fixture(scope="module")
def served(kinds: dict[tuple[str, str], Kind]) -> dict[tuple[str, str], Kind]:
    custom = [kind for definition in definitions.custom_resource_definitions() for kind in crd.kinds(definition)]
    return kinds | {(kind.resource.api_version, kind.resource.kind): kind for kind in custom}


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_a_recorded_case_is_answered_alike(path: Path, served: dict[tuple[str, str], Kind], write_kind) -> None:
    recording = json.loads(json.dumps(yaml.load(path.read_text(), yaml.CSafeLoader)))
    for step in steps(recording):
        sent, wanted = step.sent, step.answer
        if sent["kind"] not in PREPARED or wanted["code"] == 409 or not sent["metadata"].get("name"):
            continue
        name = f"{sent['kind']}/{sent['metadata']['name']}"
        kind = served[sent["apiVersion"], sent["kind"]]
        before = real(step.before, name) if step.before else None
        answer = write_kind(
            kind, real(sent, name) if before else sent, before, status=step.is_status, stored=priority_classes(recording)
        )
        assert answer.code == wanted["code"], (name, answer.message)
        if wanted.get("message"):
            assert faults(answer.message) == faults(wanted["message"])
        if step.stored is not None:
            assert answer.object is not None
            assert answer.object["spec"] == addressed(real(step.stored, name), answer.object)["spec"]
            assert answer.object["metadata"].get("labels") == real(step.stored, name)["metadata"].get("labels")


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_what_controllers_created_comes_out_unchanged(path: Path, served: dict[tuple[str, str], Kind], write_kind) -> None:
    recording = json.loads(json.dumps(yaml.load(path.read_text(), yaml.CSafeLoader)))
    for record in recording["steps"]:
        for name, stored in (record.get("new") or {}).items():
            if stored["kind"] not in PREPARED:
                continue
            wanted = real(stored, name.partition("#")[0])
            wanted["metadata"].pop("deletionTimestamp", None)
            if wanted["spec"].get("clusterIP") == "<ip>":
                del wanted["spec"]["clusterIP"], wanted["spec"]["clusterIPs"]
            kind = served[wanted["apiVersion"], wanted["kind"]]
            answer = write_kind(kind, wanted, None, stored=priority_classes(recording))
            assert answer.object is not None, (name, answer.message)
            assert answer.object["spec"] == addressed(wanted, answer.object)["spec"], name
            assert answer.object["metadata"].get("labels") == wanted["metadata"].get("labels"), name


def addressed(wanted: Json, got: Json) -> Json:
    """Recordings leave out which address a Service was given."""
    if wanted["kind"] == "Service" and wanted["spec"].get("clusterIP") != "None":
        wanted["spec"] |= {name: got["spec"][name] for name in ("clusterIP", "clusterIPs") if name in got["spec"]}
    return wanted
