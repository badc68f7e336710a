"""Resources that only an installation writes."""

from __future__ import annotations

from shunter.api.resources import Resource

SERVICE_MONITORS = Resource("monitoring.coreos.com", "v1", "ServiceMonitor", "servicemonitors")
POD_MONITORS = Resource("monitoring.coreos.com", "v1", "PodMonitor", "podmonitors")
PROMETHEUS_RULES = Resource("monitoring.coreos.com", "v1", "PrometheusRule", "prometheusrules")
ISSUERS = Resource("cert-manager.io", "v1", "Issuer", "issuers")
CERTIFICATES = Resource("cert-manager.io", "v1", "Certificate", "certificates")
