"""Expressions of Prometheus that the dashboard shows and alerts judge. Pure."""

from __future__ import annotations

CERTIFICATE_SECONDS_LEFT = "min(shunter_webhook_certificate_expiry_timestamp_seconds > 0) - time()"
"""Until the certificate of the webhooks expires."""
OLDEST_KEY_SECONDS = "max by (name) (shunter_workqueue_oldest_seconds)"
"""Age of the oldest key that waits for a worker, by queue."""


def waiting_job_seconds(selector: str = "") -> str:
    """How long the job waits that has waited longest, by kind and namespace; `selector` is braces with labels."""
    return f"time() - min by (kind, namespace) (shunter_oldest_waiting_job_timestamp_seconds{selector})"


def rate(metric: str, *by: str, window: str) -> str:
    """A second, as the sum over replicas."""
    return f"sum by ({', '.join(by)}) (rate({metric}[{window}]))"
