"""The webhook configurations, and what makes the certificate that the API server trusts.

With a self-managed certificate the operator writes its CA into the configurations; applying them again leaves that field alone,
for it is not ours.
"""

from __future__ import annotations

from typing import Any

from shunter.api.meta import Json
from shunter.install.kinds import is_on
from shunter.install.names import OPERATOR, WEBHOOK_SERVICE
from shunter.install.objects import obj
from shunter.install.resources import CERTIFICATES, ISSUERS
from shunter.install.template import AllOf, Equals, Namespace, Not, On, Text, Value, When, any_of
from shunter.kube.webhooks.registration import Configuration, ServiceReference, Webhook, manifest
from shunter.operator.process import webhook_configurations

CERT_MANAGER = Equals("certificates.mode", "cert-manager")
OWN_ISSUER = AllOf((CERT_MANAGER, Not(On("certificates.issuer.name"))))
PROVIDED_AUTHORITY = AllOf((Equals("certificates.mode", "provided"), On("certificates.caBundle")))
PLACE = ServiceReference(namespace="", name=WEBHOOK_SERVICE)
"""In the namespace of the installation."""


def configurations() -> list[When]:
    """Each configuration, if one of its kinds is on."""
    return [_configuration(configuration) for configuration in webhook_configurations()]


def certificate() -> list[When]:
    """What cert-manager makes the certificate from: an issuer, ours unless another is named, and its order."""
    service = (WEBHOOK_SERVICE, ".", Namespace(), ".svc")
    issuer = {
        "name": When(On("certificates.issuer.name"), Value("certificates.issuer.name"), OPERATOR),
        "kind": Value("certificates.issuer.kind"),
        "group": ISSUERS.group,
    }
    order = {
        "secretName": Value("certificates.secretName"),
        "dnsNames": [Text(service), Text((*service, ".cluster.local"))],
        "issuerRef": issuer,
        "privateKey": {"algorithm": "ECDSA", "size": 256, "rotationPolicy": "Always"},
    }
    return [
        When(OWN_ISSUER, obj(ISSUERS, OPERATOR, spec={"selfSigned": {}})),
        When(CERT_MANAGER, obj(CERTIFICATES, WEBHOOK_SERVICE, spec=order)),
    ]


def _configuration(configuration: Configuration) -> When:
    injected = {"cert-manager.io/inject-ca-from": Text((Namespace(), "/", WEBHOOK_SERVICE))}
    entries = manifest(configuration, PLACE, authority=b"")["webhooks"]
    webhooks = [_entry(webhook, entry) for webhook, entry in zip(configuration.webhooks, entries, strict=True)]
    annotations = When(CERT_MANAGER, injected)
    kinds = dict.fromkeys(is_on(webhook.resource) for webhook in configuration.webhooks)
    return When(any_of(list(kinds)), obj(configuration.resource, configuration.name, annotations=annotations, webhooks=webhooks))


def _entry(webhook: Webhook, entry: Json) -> When:
    service = {**entry["clientConfig"]["service"], "namespace": Namespace()}
    called = {"service": service, "caBundle": When(PROVIDED_AUTHORITY, Value("certificates.caBundle"))}
    served = {"key": "kubernetes.io/metadata.name", "operator": "In", "values": Value("namespaces")}
    selector: dict[str, Any] = {"namespaceSelector": When(On("namespaces"), {"matchExpressions": [served]})}
    return When(is_on(webhook.resource), {**entry, "clientConfig": called, **selector})
