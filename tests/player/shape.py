"""Objects and events as recordings show them: what a user or another program may rely on.

What differs from run to run is replaced: uids by the object they belong to, random name suffixes by xxxxx, times, addresses.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

import yaml

Json = dict[str, Any]

UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
POINTER = re.compile(r"0x[0-9a-f]{8,}")
TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|( ?[+-]\d\d:?\d\d))?( UTC)?( m=[+-][\d.]+)?")
UNKNOWN = "<uid ?>"
"""What stands for the uid of an object that was not seen."""
NOT_AUTOSCALED = {"desiredReplicas": 0, "currentMetrics": None}
"""The status of an autoscaler that no controller has looked at, as when the recordings were made."""
SERVER_FIELDS = ("uid", "resourceVersion", "creationTimestamp", "namespace")


@lru_cache(maxsize=2**15)
def _timeless(text: str) -> str:
    """Objects have most of their texts in common."""
    return POINTER.sub("<pointer>", TIME.sub("<time>", text))


class Shapes:
    """Knows every uid and generated name seen in one run, in the order of first sight."""

    def __init__(self) -> None:
        self._owners: dict[str, str] = {}
        self._generated: dict[str, str] = {}

    def see(self, obj: Json) -> None:
        metadata = obj["metadata"]
        self._owners.setdefault(metadata["uid"], f"{obj['kind']}/{metadata['name']}")
        if metadata.get("generateName") and obj["kind"] != "Event":
            self._generated[metadata["name"]] = f"{metadata['generateName']}xxxxx"

    def age(self, obj: Json) -> int:
        """Smaller for objects seen earlier."""
        return list(self._owners).index(obj["metadata"]["uid"])

    def normal(self, value: Any) -> Any:
        """Any part of an object, an answer or an event without what differs from run to run."""
        if isinstance(value, dict):
            return {key: self.normal(item) for key, item in value.items() if key != "managedFields"}
        if isinstance(value, list):
            return [self.normal(item) for item in value]
        if not isinstance(value, str):
            return value
        for name, shown in self._generated.items():
            value = value.replace(name, shown)
        if "-" in value:
            value = UID.sub(
                lambda match: f"<uid {self.normal(self._owners[match[0]])}>" if match[0] in self._owners else UNKNOWN, value
            )
        return _timeless(value)

    def shown(self, obj: Json) -> Json:
        """A whole object as recorded. Pod status is left out: the player itself wrote it. So is what a
        controller of autoscalers found."""
        obj = {**obj, "metadata": _metadata(obj["metadata"])}
        match obj.get("kind"):
            case "Pod":
                obj.pop("status", None)
            case "HorizontalPodAutoscaler":
                obj["status"] = NOT_AUTOSCALED
            case "Secret":
                obj["data"] = dict.fromkeys(obj.get("data", {}), "<bytes>")
            case "Service" if obj.get("spec", {}).get("clusterIP") not in (None, "None"):
                obj["spec"] = {**obj["spec"], "clusterIP": "<ip>", "clusterIPs": ["<ip>"]}
            case "ConfigMap" if obj.get("data"):
                obj["data"] = {key: _parsed(text) for key, text in obj["data"].items()}
            case "ControllerRevision" if isinstance(obj.get("data"), dict) and "metadata" in obj["data"]:
                obj["data"] = {**obj["data"], "metadata": _metadata(obj["data"]["metadata"])}
        normal: Json = self.normal(obj)
        return normal

    def event(self, event: Json) -> Json:
        """An event as recorded: about what, type, reason, message, and from whom."""
        regarding = event["involvedObject"]
        normal: Json = self.normal(
            {
                "object": f"{regarding['kind']}/{regarding['name']}",
                "type": event.get("type"),
                "reason": event.get("reason"),
                "message": event.get("message"),
                "from": event.get("reportingComponent") or event.get("source", {}).get("component"),
            }
        )
        return normal


def _metadata(metadata: Json) -> Json:
    shown = {key: value for key, value in metadata.items() if key not in SERVER_FIELDS}
    if "ownerReferences" in shown:
        shown["ownerReferences"] = [{k: v for k, v in ref.items() if k != "uid"} for ref in shown["ownerReferences"]]
    if "deletionTimestamp" in shown:
        shown["deletionTimestamp"] = "<time>"
    return shown


def _parsed(text: str) -> Any:
    """An object kept as text in a ConfigMap is shown as an object."""
    if not text.startswith("apiVersion:"):
        return text
    obj = yaml.load(text, yaml.CSafeLoader)
    return {**obj, "metadata": _metadata(obj["metadata"])} if isinstance(obj, dict) and "metadata" in obj else text
