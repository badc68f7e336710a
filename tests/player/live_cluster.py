"""A cluster over HTTP: requests as a user, and a live copy of every object that cases are about."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any, NamedTuple

import msgspec

from player.shape import Json, Shapes
from shunter.api.resources import Resource
from shunter.api.training.kinds import JOB_KINDS
from shunter.kube.client import Client, connect
from shunter.kube.kubeconfig import Connection

V1 = [kind.resource for kind in JOB_KINDS]
V2 = [
    Resource("trainer.kubeflow.org", "v1alpha1", "TrainJob", "trainjobs"),
    Resource("trainer.kubeflow.org", "v1alpha1", "TrainingRuntime", "trainingruntimes"),
    Resource("trainer.kubeflow.org", "v1alpha1", "ClusterTrainingRuntime", "clustertrainingruntimes", namespaced=False),
]
BUILT_IN = [
    Resource("", "v1", "Pod", "pods"),
    Resource("", "v1", "Service", "services"),
    Resource("", "v1", "ConfigMap", "configmaps"),
    Resource("", "v1", "Secret", "secrets"),
    Resource("", "v1", "ServiceAccount", "serviceaccounts"),
    Resource("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims"),
    Resource("", "v1", "Event", "events"),
    Resource("batch", "v1", "Job", "jobs"),
    Resource("apps", "v1", "ControllerRevision", "controllerrevisions"),
    Resource("autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers"),
    Resource("rbac.authorization.k8s.io", "v1", "Role", "roles"),
    Resource("rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings"),
    Resource("scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", namespaced=False),
]
OTHERS = [
    Resource("jobset.x-k8s.io", "v1alpha2", "JobSet", "jobsets"),
    Resource("scheduling.x-k8s.io", "v1alpha1", "PodGroup", "podgroups"),
    Resource("scheduling.volcano.sh", "v1beta1", "PodGroup", "podgroups"),
]
RESOURCES = [*BUILT_IN, *V1, *V2, *OTHERS]
NAMESPACES = Resource("", "v1", "Namespace", "namespaces", namespaced=False)


class Place(NamedTuple):
    """Where one object is kept in the live copy."""

    resource: Resource
    namespace: str
    name: str


class Answer(NamedTuple):
    """What the API server said to one request, as recordings show it."""

    code: int
    reason: str | None = None
    message: str | None = None
    warnings: tuple[str, ...] = ()

    def shown(self, name: str) -> Json:
        shown: dict[str, Any] = {"object": name, "code": self.code}
        if self.code >= 400:
            shown |= {"reason": self.reason, "message": self.message}
        if self.warnings:
            shown["warnings"] = list(self.warnings)
        return shown


class LiveCluster:
    """Use as an async context manager; `objects` is filled before it is entered."""

    def __init__(self, connection: Connection) -> None:
        self._client = connect(connection, component="player")
        self.objects: dict[Place, Json] = {}
        self._shapes: dict[str, Shapes] = {}
        self._changed: dict[str, float] = {}
        self._watches: list[asyncio.Task[None]] = []
        self._installed: frozenset[Place] = frozenset()
        """Cluster-wide objects that were there before any case: a shipped runtime may have a name that begins like a case's."""

    async def __aenter__(self) -> LiveCluster:
        for resource in RESOURCES:
            answer = await self._client.transport.request("GET", resource.path())
            if answer.status == 404:
                continue
            listed = msgspec.json.decode(answer.body)
            for obj in listed["items"]:
                self._note(resource, "ADDED", {"kind": resource.kind, "apiVersion": resource.api_version, **obj})
            watch = self._watch(resource, listed["metadata"]["resourceVersion"])
            self._watches.append(asyncio.create_task(watch))
        self._installed = frozenset(place for place in self.objects if not place.namespace)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for watch in self._watches:
            watch.cancel()
        await asyncio.gather(*self._watches, return_exceptions=True)
        await self._client.close()

    @property
    def client(self) -> Client:
        return self._client

    async def send(self, method: str, path: str, body: Json | None = None, content_type: str = "application/json") -> Answer:
        """One request; refusals are answers."""
        encoded = b"" if body is None else msgspec.json.encode(body)
        headers = {"Content-Type": content_type} if encoded else {}
        answer = await self._client.transport.request(method, path, headers=headers, body=encoded)
        reason = message = None
        if answer.status >= 400:
            reason, message = _refusal(answer.body)
        return Answer(answer.status, reason, message, _warnings(answer.headers))

    def shapes(self, namespace: str) -> Shapes:
        """What one case needs to know of uids and names, from now on."""
        return self._shapes.setdefault(namespace, Shapes())

    def mine(self, namespace: str, case: str) -> list[Place]:
        """Objects of a case: those in its namespace, and cluster-wide ones that carry its name."""
        return [
            place
            for place in self.objects
            if place.namespace == namespace
            or (
                not place.namespace and place not in self._installed and (place.name == case or place.name.startswith(f"{case}-"))
            )
        ]

    async def rest(self, namespace: str, *, quiet: float, longest: float) -> None:
        """Waits until nothing in the namespace has changed for `quiet` seconds, at most `longest` seconds."""
        started = time.monotonic()
        while (now := time.monotonic()) < started + longest:
            left = max(self._changed.get(namespace, started), started) + quiet - now
            if left <= 0:
                return
            await asyncio.sleep(left)

    def _note(self, resource: Resource, event: str, obj: Json) -> None:
        metadata = obj["metadata"]
        namespace = metadata.get("namespace", "")
        place = Place(resource, namespace, metadata["name"])
        self._changed[namespace] = time.monotonic()
        for other, shapes in self._shapes.items():
            if namespace in ("", other):
                shapes.see(obj)
        if event == "DELETED":
            self.objects.pop(place, None)
        else:
            self.objects[place] = obj

    async def _watch(self, resource: Resource, version: str) -> None:
        while True:
            params = {"watch": "true", "resourceVersion": version, "allowWatchBookmarks": "true"}
            buffer = b""
            async for chunk in self._client.transport.stream("GET", resource.path(), params=params):
                *lines, buffer = (buffer + chunk).split(b"\n")
                for line in lines:
                    event = msgspec.json.decode(line)
                    if event["type"] == "ERROR":
                        raise AssertionError(f"watch of {resource.plural}: {event['object']}")
                    version = event["object"]["metadata"]["resourceVersion"]
                    if event["type"] != "BOOKMARK":
                        self._note(resource, event["type"], event["object"])


def resource_of(kind: str, api_version: str | None) -> Resource:
    found = (other for other in RESOURCES if other.kind == kind and api_version in (None, other.api_version))
    return next(found)


def _refusal(body: bytes) -> tuple[str | None, str | None]:
    """Reason and message; a server that does not know a path at all answers in plain text."""
    if not body.startswith(b"{"):
        return None, body.decode().strip()
    status = msgspec.json.decode(body)
    return status.get("reason"), status.get("message")


def _warnings(headers: Mapping[str, str]) -> tuple[str, ...]:
    """The texts of Warning headers, which come joined by commas."""
    found = re.findall(r'299 - "((?:[^"\\]|\\.)*)"', headers.get("warning", ""))
    return tuple(text.replace('\\"', '"') for text in found)
