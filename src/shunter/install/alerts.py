"""The alerts of an installation, as rules of Prometheus. Pure."""

from __future__ import annotations

from typing import NamedTuple

from shunter.api.meta import Json
from shunter.install.expressions import CERTIFICATE_SECONDS_LEFT, OLDEST_KEY_SECONDS, rate, waiting_job_seconds


class Alert(NamedTuple):
    """One rule of Prometheus, in whose words `duration` is (`5m`). `summary` and `description` may hold its templates; `severity`
    is critical, warning or info."""

    name: str
    expression: str
    duration: str
    """How long the expression must hold."""
    severity: str
    summary: str
    description: str
    """What it means, and what to look at."""


ALERTS = (
    Alert(
        "ShunterNoLeader",
        "absent(shunter_build_info) or max(leader_election_master_status) == 0",
        "5m",
        "critical",
        "No replica of the operator is the leader.",
        "Jobs are accepted but not reconciled. Check the pods of deployment/shunter-operator and their logs.",
    ),
    Alert(
        "ShunterCertificateExpires",
        f"{CERTIFICATE_SECONDS_LEFT} < 7 * 86400",
        "15m",
        "warning",
        "The certificate of the webhooks expires in {{ $value | humanizeDuration }}.",
        "When it has expired no job is accepted. The operator renews its own 30 days before: check its log. With "
        "certificates.mode=provided renew the Secret.",
    ),
    Alert(
        "ShunterReconcileErrors",
        f"{rate('controller_runtime_reconcile_errors_total', 'controller', window='5m')}"
        f" / {rate('controller_runtime_reconcile_total', 'controller', window='5m')} > 0.05",
        "15m",
        "warning",
        "{{ $value | humanizePercentage }} of the reconciles of {{ $labels.controller }} fail.",
        "Look at the log of the operator: each error names its job.",
    ),
    Alert(
        "ShunterQueueStuck",
        f"{OLDEST_KEY_SECONDS} > 300",
        "1m",
        "warning",
        "A job has waited {{ $value | humanizeDuration }} for a worker of {{ $labels.name }}.",
        "All workers are busy, or the API server is slow. Raise config.controller.groupKindConcurrency, or check its latency.",
    ),
    Alert(
        "ShunterJobsWaiting",
        f"{waiting_job_seconds()} > 1800",
        "5m",
        "info",
        "A {{ $labels.kind }} in {{ $labels.namespace }} has waited {{ $value | humanizeDuration }} to run.",
        "The column WHY of shunter jobs -n {{ $labels.namespace }} shows what it waits for.",
    ),
)


def rule_groups() -> list[Json]:
    """The `groups` of a file of rules, or of a PrometheusRule."""
    return [{"name": "shunter", "rules": [_rule(alert) for alert in ALERTS]}]


def _rule(alert: Alert) -> Json:
    return {
        "alert": alert.name,
        "expr": alert.expression,
        "for": alert.duration,
        "labels": {"severity": alert.severity},
        "annotations": {"summary": alert.summary, "description": alert.description},
    }
