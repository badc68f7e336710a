"""What the status server counts. Never by job: there may be thousands."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Histogram

_BUCKETS = [0.001, 0.005, 0.025, 0.1, 0.5, 1.0, 2.5, 5.0, 10.0]


class ReportMetrics:
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
        self._answers.labels(str(code)).inc()
        self._seconds.observe(seconds)

    def wrote(self, code: str) -> None:
        self._writes.labels(code).inc()
