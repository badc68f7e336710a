"""What the status server counts. Never by job: there may be thousands."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Histogram

_BUCKETS = [0.001, 0.005, 0.025, 0.1, 0.5, 1.0, 2.5, 5.0, 10.0]


class ReportMetrics:
    """Answers by code, how long they took in seconds, and writes by code, in `registry`."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._answers = Counter(
            "kubeflow_trainer_status_reports",
            "Reports of training programs, by the code of the answer",
            ["code"],
            registry=registry,
        )
        self._seconds = Histogram(
            "kubeflow_trainer_status_report_duration_seconds", "Until a report was answered", buckets=_BUCKETS, registry=registry
        )
        self._writes = Counter(
            "kubeflow_trainer_status_writes",
            "Writes that reports led to, by the code of the API server",
            ["code"],
            registry=registry,
        )

    def answered(self, code: int, seconds: float) -> None:
        """Counts an answer with this HTTP code, given after so many seconds."""
        self._answers.labels(str(code)).inc()
        self._seconds.observe(seconds)

    def wrote(self, code: str) -> None:
        """Counts a write of a status: `200`, the API server's code, or `<error>` where it gave none."""
        self._writes.labels(code).inc()
