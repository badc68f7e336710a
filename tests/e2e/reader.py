"""`kubectl get -o json` without starting a program: tests wait by asking again and again, and each kubectl costs a third of a
second of processor time. Importing the Kubernetes client takes half a second, so only what asks does: unit tests import this."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
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


class Reader:
    """Reads objects through connections that stay open."""

    def __init__(self, kubeconfig: Path, namespace: str = "default") -> None:
        self._kubeconfig = kubeconfig
        self._namespace = namespace
        self._resources: dict[str, Resource] = {}

    def get(self, *arguments: str) -> dict[str, Any] | None:
        """The object, or the list, that kubectl would show for these arguments; None where only kubectl knows what they mean.
        AssertionError where the server refuses."""
        asked, others = _ARGUMENTS.parse_known_args(arguments)
        if others or set(",/") & set(asked.kind):
            return None
        if asked.kind not in self._resources:
            self._discover()
        resource = self._resources.get(asked.kind)
        if resource is None:
            return None
        namespace = None if asked.all_namespaces else asked.namespace or self._namespace
        selectors = [("labelSelector", asked.selector), ("fieldSelector", asked.field_selector)]
        found = self._asked(resource.path(namespace, asked.name), [(name, value) for name, value in selectors if value])
        for item in found.get("items", ()) if asked.name is None else ():
            item.update(apiVersion=resource.api_version, kind=resource.kind)
        return found

    @cached_property
    def _client(self) -> Any:
        from kubernetes.config import new_client_from_config
        from kubernetes.dynamic import DynamicClient

        return DynamicClient(new_client_from_config(str(self._kubeconfig)), discoverer=lambda client, cache_file: None)

    def _asked(self, path: str, query: Sequence[tuple[str, str]] = ()) -> dict[str, Any]:
        from kubernetes.dynamic.exceptions import DynamicApiError

        try:
            answer: dict[str, Any] = json.loads(self._client.request("get", path, query_params=list(query), serialize=False).data)
        except (DynamicApiError, HTTPError) as error:
            raise AssertionError(f"GET {path}: {error}") from error
        return answer

    def _discover(self) -> None:
        """Learns the names that the server knows; the group that it names first wins, as with kubectl."""
        groups = ["v1", *(group["preferredVersion"]["groupVersion"] for group in self._asked("/apis")["groups"])]
        for api_version in groups:
            for entry in self._asked(f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}")["resources"]:
                if "/" not in entry["name"]:
                    resource = Resource(api_version, entry["kind"], entry["name"], entry["namespaced"])
                    for name in (entry["name"], entry.get("singularName"), *entry.get("shortNames", ())):
                        self._resources.setdefault(name, resource)
