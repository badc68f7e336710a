"""Every write recorded from a real kube-apiserver, done again: the same fields owned by the same managers, the same refusals.

Each step starts from what the real server had stored before it, so that one difference does not hide the next.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from shunter.api.meta import Json
from shunter.api.resources import Resource
from shunter.cluster.apiserver.apply import managed
from shunter.cluster.apiserver.apply.errors import ApplyError
from shunter.cluster.apiserver.apply.fields import FieldTree, compile_fields
from shunter.cluster.apiserver.apply.reset import reset_fields
from shunter.cluster.apiserver.apply.server_side import apply
from shunter.cluster.apiserver.definitions import definition_names, definitions
from shunter.cluster.apiserver.kinds import Kind
from shunter.cluster.apiserver.patch import json_patch
from shunter.kube.merge_patch import merge_patch

HERE = Path(__file__).parent
NEVER = datetime(2099, 1, 1, tzinfo=UTC)
WITHOUT_STATUS = {"ConfigMap", "Secret", "ServiceAccount", "Role", "Lease"}
FILLED_IN = {
    "ConfigMap": set(),
    "Deployment": {"progressDeadlineSeconds", "replicas", "revisionHistoryLimit", "strategy", "type", "maxUnavailable"},
    "Gadget": {"grade", "protocol"},
    "Job": {"labels", "selector", "suspend"},
    "Namespace": {"kubernetes.io/metadata.name", "spec"},
    "PersistentVolumeClaim": {"finalizers", "volumeMode"},
    "Pod": {"apiVersion", "defaultMode", "livenessProbe", "preemptionPolicy", "priority", "requests", "tolerations"},
    "Secret": {"data", "type"},
    "Service": {
        *("clusterIP", "clusterIPs", "internalTrafficPolicy", "ipFamilies", "ipFamilyPolicy", "nodePort", "sessionAffinity"),
        *("targetPort", "type"),
    },
}
"""Fields that the real server fills in after an apply (defaults, admission, allocation): not this room's part."""
FILLED_IN_PODS = {
    *("imagePullPolicy", "resources", "terminationMessagePath", "terminationMessagePolicy", "protocol", "dnsPolicy"),
    *("enableServiceLinks", "restartPolicy", "schedulerName", "securityContext", "terminationGracePeriodSeconds"),
}
SET_AFTER_OWNERSHIP = {
    "Job": {"labels", "selector"},
    "PersistentVolumeClaim": {"finalizers"},
    "Pod": {"preemptionPolicy", "priority"},
    "Service": {"clusterIPs", "ipFamilies", "ipFamilyPolicy", "nodePort"},
}
"""Fields that the real server sets on a write after it has worked out who owns what: nobody owns them."""
SET_BY_SERVER = {"managedFields", "resourceVersion", "generation", "uid", "creationTimestamp"}


def histories() -> list[Any]:
    recordings = [history for path in sorted((HERE / "vectors").glob("*.json")) for history in json.loads(path.read_text())]
    return [pytest.param(history, id=history["title"].replace(" ", "_")) for history in recordings]


@cache
def tree_of(kind: str, api_version: str) -> FieldTree:
    group, _, version = api_version.rpartition("/")
    if kind == "Gadget":
        crd = yaml.safe_load((HERE / "gadget.yaml").read_text())
        return compile_fields(crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"], definitions())
    name = definition_names()[group, version, kind]
    return compile_fields({"$ref": f"#/components/schemas/{name}"}, definitions())


def kind_of(kind: str, api_version: str) -> Kind:
    group, _, version = api_version.rpartition("/")
    resource = Resource(group, version, kind, kind.lower() + "s")
    return Kind(resource=resource, schema=lambda: pytest.fail("not needed"), has_status=kind not in WITHOUT_STATUS)


@pytest.mark.parametrize("history", histories())
def test_write_ends_as_on_a_real_server(history: Json) -> None:
    kind, api_version = history["kind"], history["apiVersion"]
    live: Json | None = None
    for number, step in enumerate(history["steps"]):
        answer = step["answer"]
        if step["code"] >= 300 and (step["verb"] != "apply" or step["code"] == 422):
            continue
        settings: Json = {
            "tree": tree_of(kind, api_version),
            "manager": step["manager"],
            "subresource": step["subresource"],
            "api_version": api_version,
            "now": time_of_write(live, answer),
            "reset": reset_fields(kind_of(kind, api_version), step["subresource"]),
        }
        where = f"step {number}: {step['verb']} {json.dumps(step['body'])} by {step['manager']}"
        if step["verb"] == "apply":
            check_apply(live, step, settings, where)
        else:
            later = SET_AFTER_OWNERSHIP.get(kind, set())
            before = None if live is None else without_names(live, later)
            new = without_names(with_sent_entries(live, step), later)
            assert managed.updated(before, new, **settings) == answer["metadata"].get("managedFields", []), where
        if step["code"] < 300:
            live = answer


def check_apply(live: Json | None, step: Json, settings: Json, where: str) -> None:
    answer = step["answer"]
    try:
        result = apply(live, step["body"], force=step["force"], **settings)
    except ApplyError as refusal:
        check_refusal(refusal, step, where)
        return
    assert step["code"] < 300, f"{where}: {answer['message']}"
    assert result["metadata"].get("managedFields", []) == answer["metadata"].get("managedFields", []), where
    if step["code"] == 200 and live == answer:
        assert result is live, where
    kind = step["body"]["kind"]
    result.pop("stringData", None)
    assert compared(result, step) == compared(as_before_filling_in(answer, result, FILLED_IN.get(kind, set())), step), where


def check_refusal(refusal: ApplyError, step: Json, where: str) -> None:
    """Field errors and causes come in no particular order."""
    answer = step["answer"]
    assert (refusal.code, refusal.reason) == (step["code"], answer.get("reason", "")), where
    assert sorted(refusal.message.split("\n")) == sorted(answer["message"].split("\n")), where
    causes = (refusal.details or {}).get("causes", [])
    assert in_any_order(causes) == in_any_order(answer.get("details", {}).get("causes", [])), where


def time_of_write(live: Json | None, answer: Json) -> datetime:
    """The new time that the real server wrote; a time that shows when it wrote none."""
    before = {entry.get("time") for entry in (live or {}).get("metadata", {}).get("managedFields", ())}
    after = {entry.get("time") for entry in answer["metadata"].get("managedFields", ())}
    new = after - before - {None}
    return datetime.fromisoformat(max(new)) if new else NEVER


def with_sent_entries(live: Json | None, step: Json) -> Json:
    """The stored object, with the managedFields that the client sent."""
    answer = step["answer"]
    match step["verb"]:
        case "json":
            sent = json_patch.apply(live or {}, step["body"])
        case "merge":
            sent = merge_patch(live, step["body"])
        case "create" | "update":
            sent = step["body"]
        case _:
            sent = live
    metadata = {name: value for name, value in answer["metadata"].items() if name != "managedFields"}
    if "managedFields" in sent.get("metadata", {}):
        metadata["managedFields"] = sent["metadata"]["managedFields"]
    return {**answer, "metadata": metadata}


def in_any_order(causes: list[Json]) -> list[Json]:
    return sorted(causes, key=lambda cause: (cause["message"], cause["field"]))


def compared(obj: Json, step: Json) -> Any:
    """The object less what other parts of the server decide."""
    metadata = {name: value for name, value in obj["metadata"].items() if name not in SET_BY_SERVER}
    rest = {name: value for name, value in obj.items() if name not in ("metadata", "status" if step["subresource"] == "" else "")}
    if step["subresource"] == "status":
        return without_empty(obj.get("status", {}))
    return without_empty({**rest, "metadata": metadata})


def without_empty(value: Any) -> Any:
    """Less what Go leaves out when it encodes its own types: nulls and empty containers."""
    if isinstance(value, dict):
        parts = {name: without_empty(part) for name, part in value.items()}
        return {name: part for name, part in parts.items() if part is not None and part not in ({}, [])}
    if isinstance(value, list):
        return [without_empty(part) for part in value]
    return value


def as_before_filling_in(real: Any, ours: Any, filled_in: set[str]) -> Any:
    """The real object less what ours has not been given: defaults, and the empty value of a null."""
    if isinstance(real, dict) and isinstance(ours, dict):
        return {
            name: ours[name] if name in filled_in and name in ours else as_before_filling_in(part, ours.get(name), filled_in)
            for name, part in real.items()
            if (name in ours or name not in filled_in | FILLED_IN_PODS) and (part != "" or ours.get(name) is not None)
        }
    if isinstance(real, list) and isinstance(ours, list) and len(real) == len(ours):
        return [as_before_filling_in(part, mine, filled_in) for part, mine in zip(real, ours, strict=True)]
    return real


def without_names(value: Any, names: set[str]) -> Any:
    """Less all fields of these names, at any depth outside managedFields."""
    if isinstance(value, dict):
        return {
            name: part if name == "managedFields" else without_names(part, names)
            for name, part in value.items()
            if name not in names
        }
    if isinstance(value, list):
        return [without_names(part, names) for part in value]
    return value
