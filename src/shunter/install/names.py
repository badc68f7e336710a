"""Names and labels of an installation. Other names of ours are known elsewhere: webhooks by the operator, CRDs by their types."""

from __future__ import annotations

from shunter import __version__
from shunter.api.meta import Json

NAMESPACE = "shunter-system"
"""Unless another is chosen."""
OPERATOR = "shunter-operator"
"""Deployment, ServiceAccount, roles, disruption budget, network policy, monitors."""
CONFIGURATION = "shunter-configuration"
WEBHOOK_SERVICE = "shunter-webhook"
METRICS_SERVICE = "shunter-metrics"
CERTIFICATE = "shunter-webhook-certificate"
"""The Secret, unless another is chosen."""

UI = "shunter-ui"
"""The web page: Deployment, ServiceAccount, Service, roles, network policy."""

PART_OF = "app.kubernetes.io/part-of"
OURS: Json = {PART_OF: "shunter"}
LABELS: Json = {"app.kubernetes.io/name": "shunter", "app.kubernetes.io/version": __version__, **OURS}
"""On every object."""
SELECTOR: Json = {"app.kubernetes.io/name": "shunter", "app.kubernetes.io/component": "operator"}
"""Finds the operator's pods. Never changes: a Deployment's selector cannot."""

METRICS_SELECTOR: Json = {"app.kubernetes.io/name": "shunter", "app.kubernetes.io/component": "metrics"}
"""Finds the Service of the metrics."""

UI_SELECTOR: Json = {"app.kubernetes.io/name": "shunter", "app.kubernetes.io/component": "ui"}
"""Finds the pods of the web page."""

WEBHOOK_PORT = 9443
METRICS_PORT = 8080
HEALTH_PORT = 8081
UI_PORT = 8443
