"""Tells an API server which webhooks to call, where, and which authority to trust.

An operator outside the cluster is called by URL, one inside through a Service. Either it writes the whole configurations, or they
were installed with it and only their caBundle is its own.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from typing import Literal, NamedTuple

from shunter.api.meta import Json
from shunter.api.resources import ENDPOINT_SLICES, MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS, Resource
from shunter.kube.client import Client

Operation = Literal["CREATE", "UPDATE", "DELETE", "CONNECT"]


class Webhook(NamedTuple):
    """One webhook: what it is asked about and under which path it answers."""

    name: str
    """Fully qualified, e.g. `validator.trainjob.trainer.kubeflow.org`; users read it when they are denied."""
    path: str
    resource: Resource
    operations: Sequence[Operation] = ("CREATE", "UPDATE")
    failure_policy: Literal["Fail", "Ignore"] = "Fail"
    match_policy: Literal["Equivalent", "Exact"] = "Equivalent"
    """Whether it is also asked about objects written in other versions of the resource, converted."""
    object_selector: Json | None = None
    timeout_seconds: int = 10


class Configuration(NamedTuple):
    """One MutatingWebhookConfiguration or ValidatingWebhookConfiguration."""

    kind: Literal["mutating", "validating"]
    name: str
    webhooks: Sequence[Webhook]

    @property
    def resource(self) -> Resource:
        """`mutatingwebhookconfigurations` or `validatingwebhookconfigurations`, by `kind`."""
        return MUTATING_WEBHOOKS if self.kind == "mutating" else VALIDATING_WEBHOOKS


class Url(NamedTuple):
    """Where the API server finds the webhooks: the server's URL, without a path."""

    url: str

    def client_config(self, path: str) -> Json:
        """`{"url": ...}` for the webhook of this path, which begins with a slash; without a caBundle."""
        return {"url": self.url.rstrip("/") + path}


class ServiceReference(NamedTuple):
    """Where the API server finds the webhooks: a Service of the cluster."""

    namespace: str
    name: str
    port: int = 443

    @property
    def hosts(self) -> list[str]:
        """The names under which it is called, the one that API servers use first."""
        return [f"{self.name}.{self.namespace}.svc", f"{self.name}.{self.namespace}.svc.cluster.local"]

    def client_config(self, path: str) -> Json:
        """`{"service": ...}` for the webhook of this path; without a caBundle."""
        return {"service": {"namespace": self.namespace, "name": self.name, "path": path, "port": self.port}}


Place = Url | ServiceReference


def manifest(configuration: Configuration, place: Place, *, authority: bytes) -> Json:
    """The object to apply. `authority` is the PEM of the CAs that the server's certificate may be from; left out when empty."""
    webhooks = [_entry(webhook, place, authority) for webhook in configuration.webhooks]
    return configuration.resource.typed({"metadata": {"name": configuration.name}, "webhooks": webhooks})


async def register(client: Client, configurations: Sequence[Configuration], place: Place, *, authority: bytes) -> None:
    """Applies the configurations; what another place or CA registered before under their names is replaced."""
    for configuration in configurations:
        await client.apply(configuration.resource, manifest(configuration, place, authority=authority))


def bundles(registered: Json) -> list[bytes]:
    """The caBundle (PEM) of each webhook of a configuration as it is stored; empty where there is none."""
    return [_decoded((webhook.get("clientConfig") or {}).get("caBundle") or "") for webhook in registered.get("webhooks") or ()]


async def trust(client: Client, resource: Resource, registered: Json, authority: bytes) -> None:
    """Gives every webhook of a configuration as it was read this caBundle. Conflict when it has changed since."""
    metadata = registered["metadata"]
    bundle = base64.b64encode(authority).decode()
    webhooks = [{"name": webhook["name"], "clientConfig": {"caBundle": bundle}} for webhook in registered["webhooks"]]
    version = {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]}
    await client.patch(resource, metadata["name"], "", {"metadata": version, "webhooks": webhooks}, type="strategic")


async def has_no_endpoints(client: Client, service: ServiceReference) -> bool:
    """Whether no pod behind a Service is ready, so that calls to it cannot be answered."""
    selector = f"kubernetes.io/service-name={service.name}"
    slices = await client.list(ENDPOINT_SLICES, service.namespace, label_selector=selector)
    endpoints = (endpoint for found in slices.items for endpoint in found.get("endpoints") or ())
    # No condition at all means ready (discovery.k8s.io/v1).
    return all((endpoint.get("conditions") or {}).get("ready") is False for endpoint in endpoints)


def _decoded(bundle: str) -> bytes:
    try:
        return base64.b64decode(bundle)
    except binascii.Error:
        return b""


def _entry(webhook: Webhook, place: Place, authority: bytes) -> Json:
    resource = webhook.resource
    client_config = place.client_config(webhook.path)
    if authority:
        client_config["caBundle"] = base64.b64encode(authority).decode()
    entry: Json = {
        "name": webhook.name,
        "admissionReviewVersions": ["v1"],
        "clientConfig": client_config,
        "rules": [
            {
                "apiGroups": [resource.group],
                "apiVersions": [resource.version],
                "resources": [resource.plural],
                "operations": list(webhook.operations),
            }
        ],
        "failurePolicy": webhook.failure_policy,
        "sideEffects": "None",
        "timeoutSeconds": webhook.timeout_seconds,
    }
    if webhook.match_policy != "Equivalent":
        entry["matchPolicy"] = webhook.match_policy
    if webhook.object_selector:
        entry["objectSelector"] = webhook.object_selector
    return entry
