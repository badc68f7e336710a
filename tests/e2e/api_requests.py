"""What `kubectl get -o json`, `apply --server-side` and `delete --wait=false` do, without starting a program.

Tests wait by asking again and again, each has a namespace of its own, and each kubectl costs a third of a second of CPU.
Importing the Kubernetes client takes half a second, so only what asks does: unit tests import this.
"""

from __future__ import annotations

import argparse
import json
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from urllib3.exceptions import HTTPError

_ARGUMENTS = argparse.ArgumentParser(add_help=False)
_ARGUMENTS.add_argument("kind")
_ARGUMENTS.add_argument("name", nargs="?")
_ARGUMENTS.add_argument("-n", "--namespace")
_ARGUMENTS.add_argument("-A", "--all-namespaces", action="store_true")
_ARGUMENTS.add_argument("-l", "--selector")
_ARGUMENTS.add_argument("--field-selector")


class Resource(NamedTuple):
    """What a server serves under a name."""

    api_version: str
    kind: str
    plural: str
    namespaced: bool

    def path(self, namespace: str | None, name: str | None) -> str:
        root = f"/apis/{self.api_version}" if "/" in self.api_version else f"/api/{self.api_version}"
        within = f"/namespaces/{namespace}" if namespace and self.namespaced else ""
        return f"{root}{within}/{self.plural}" + (f"/{name}" if name else "")


class ApiRequests:
    """Asks an API server through connections that stay open. AssertionError where it refuses."""

    def __init__(self, kubeconfig: Path, namespace: str = "default") -> None:
        self._kubeconfig = kubeconfig
        self._namespace = namespace
        self._resources: dict[str, Resource] = {}

    def get(self, *arguments: str) -> dict[str, Any] | None:
        """The object, or the list, that kubectl would show for these arguments; None where only kubectl knows what they mean."""
        asked, others = _ARGUMENTS.parse_known_args(arguments)
        if others or set(",/") & set(asked.kind):
            return None
        resource = self._resource(asked.kind)
        if resource is None:
            return None
        namespace = None if asked.all_namespaces else asked.namespace or self._namespace
        selectors = [("labelSelector", asked.selector), ("fieldSelector", asked.field_selector)]
        query = [(name, value) for name, value in selectors if value]
        found = self._asked("get", resource.path(namespace, asked.name), query_params=query)
        for item in found.get("items", ()) if asked.name is None else ():
            item.update(apiVersion=resource.api_version, kind=resource.kind)
        return found

    def apply(self, obj: dict[str, Any]) -> None:
        """A field that the server does not know is refused, as with kubectl."""
        resource = self._resource(obj["kind"].lower())
        assert resource is not None, obj["kind"]
        metadata = obj["metadata"]
        path = resource._replace(api_version=obj["apiVersion"]).path(metadata.get("namespace", self._namespace), metadata["name"])
        query = [("fieldManager", "kubectl"), ("fieldValidation", "Strict")]
        self._asked("patch", path, query_params=query, body=obj, content_type="application/apply-patch+yaml")

    def delete_namespace(self, name: str) -> None:
        """Does not wait until it has gone."""
        self._asked("delete", f"/api/v1/namespaces/{name}")

    @cached_property
    def _client(self) -> Any:
        from kubernetes.config import new_client_from_config
        from kubernetes.dynamic import DynamicClient

        return DynamicClient(new_client_from_config(str(self._kubeconfig)), discoverer=lambda client, cache_file: None)

    def _resource(self, name: str) -> Resource | None:
        if name not in self._resources:
            self._discover()
        return self._resources.get(name)

    def _asked(self, method: str, path: str, **parameters: Any) -> dict[str, Any]:
        from kubernetes.dynamic.exceptions import DynamicApiError

        try:
            answer: dict[str, Any] = json.loads(self._client.request(method, path, serialize=False, **parameters).data)
        except (DynamicApiError, HTTPError) as error:
            raise AssertionError(f"{method} {path}: {error}") from error
        return answer

    def _discover(self) -> None:
        """Learns the names that the server knows; the group that it names first wins, as with kubectl."""
        groups = ["v1", *(group["preferredVersion"]["groupVersion"] for group in self._asked("get", "/apis")["groups"])]
        for api_version in groups:
            root = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
            for entry in self._asked("get", root)["resources"]:
                if "/" not in entry["name"]:
                    resource = Resource(api_version, entry["kind"], entry["name"], entry["namespaced"])
                    for name in (entry["name"], entry.get("singularName"), *entry.get("shortNames", ())):
                        self._resources.setdefault(name, resource)
