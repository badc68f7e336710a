"""Tells an API server which webhooks to call, and where: for an operator that runs outside the cluster, by URL."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Literal, NamedTuple

from shunter.api.meta import Json
from shunter.api.resources import MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS, Resource
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
    object_selector: Json | None = None
    timeout_seconds: int = 10


class Configuration(NamedTuple):
    """One MutatingWebhookConfiguration or ValidatingWebhookConfiguration."""

    kind: Literal["mutating", "validating"]
    name: str
    webhooks: Sequence[Webhook]

    @property
    def resource(self) -> Resource:
        return MUTATING_WEBHOOKS if self.kind == "mutating" else VALIDATING_WEBHOOKS


def manifest(configuration: Configuration, *, url: str, authority: bytes) -> Json:
    """The object to apply. `url` is the server's, without path; `authority` is the PEM of the CA that its certificate is from."""
    ca_bundle = base64.b64encode(authority).decode()
    return {
        "apiVersion": configuration.resource.api_version,
        "kind": configuration.resource.kind,
        "metadata": {"name": configuration.name},
        "webhooks": [_entry(webhook, url, ca_bundle) for webhook in configuration.webhooks],
    }


async def register(
    client: Client, configurations: Sequence[Configuration], *, url: str, authority: bytes, field_manager: str = ""
) -> None:
    """Applies the configurations; what another URL or CA registered before under their names is replaced."""
    for configuration in configurations:
        body = manifest(configuration, url=url, authority=authority)
        await client.apply(configuration.resource, body, field_manager=field_manager)


def _entry(webhook: Webhook, url: str, ca_bundle: str) -> Json:
    resource = webhook.resource
    entry: Json = {
        "name": webhook.name,
        "admissionReviewVersions": ["v1"],
        "clientConfig": {"url": url.rstrip("/") + webhook.path, "caBundle": ca_bundle},
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
    if webhook.object_selector:
        entry["objectSelector"] = webhook.object_selector
    return entry
