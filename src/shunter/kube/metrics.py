"""Prometheus metrics under controller-runtime's and client-go's names, so that existing dashboards and alerts work.

Only a process that serves metrics imports this module: prometheus_client costs 5 MB.
"""

from __future__ import annotations

import platform
from collections.abc import Callable
from functools import partial
from typing import Any, get_args

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from shunter import __version__
from shunter.kube.controllers.controller import Controller, Result
from shunter.kube.health import Answer

disable_created_metrics()  # type: ignore[no-untyped-call]
"""Go's client writes no such series beside each counter, and `kubeflow_trainer_jobs_created` would get a `_created_created`."""

_QUEUE_BUCKETS = [10.0**exponent for exponent in range(-8, 4)]
_RECONCILE_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0]


class Metrics:
    """All metrics of one process. Packages add their own to `registry`."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        counter, gauge = partial(Counter, registry=self.registry), partial(Gauge, registry=self.registry)
        histogram = partial(Histogram, registry=self.registry, buckets=_RECONCILE_BUCKETS)
        queue_histogram = partial(Histogram, registry=self.registry, buckets=_QUEUE_BUCKETS)
        queue, controller, webhook = ["name", "controller"], ["controller"], ["webhook"]
        self.queue_depth = gauge("workqueue_depth", "Keys that wait for a worker", queue)
        self.queue_adds = counter("workqueue_adds", "Keys added", queue)
        self.queue_retries = counter("workqueue_retries", "Keys put back after a failure", queue)
        self.queue_seconds = queue_histogram("workqueue_queue_duration_seconds", "Waiting for a worker", queue)
        self.work_seconds = queue_histogram("workqueue_work_duration_seconds", "Being worked on", queue)
        self.unfinished_seconds = gauge("workqueue_unfinished_work_seconds", "Age of the work under way, all together", queue)
        self.longest_seconds = gauge("workqueue_longest_running_processor_seconds", "Age of the oldest work under way", queue)
        self.oldest_seconds = gauge("shunter_workqueue_oldest_seconds", "Age of the oldest key that waits for a worker", queue)
        self.reconciles = counter("controller_runtime_reconcile", "Reconciles by result", ["controller", "result"])
        self.errors = counter("controller_runtime_reconcile_errors", "Reconciles that failed", controller)
        self.panics = counter("controller_runtime_reconcile_panics", "Reconciles that failed by a bug", controller)
        self.reconcile_seconds = histogram("controller_runtime_reconcile_time_seconds", "Duration of reconciles", controller)
        self.workers = gauge("controller_runtime_max_concurrent_reconciles", "Workers", controller)
        self.active = gauge("controller_runtime_active_workers", "Workers that have a key", controller)
        self.requests = counter("rest_client_requests", "Requests to the API server", ["code", "method", "host"])
        self.webhook_requests = counter(
            "controller_runtime_webhook_requests", "Admission requests by HTTP code", ["webhook", "code"]
        )
        self.webhook_seconds = histogram("controller_runtime_webhook_latency_seconds", "Duration of admission requests", webhook)
        self.webhook_active = gauge("controller_runtime_webhook_requests_in_flight", "Admission requests under way", webhook)
        self.webhook_decisions = counter("shunter_webhook_decisions", "Verdicts by webhook", ["webhook", "decision"])
        self.throttled = histogram(
            "rest_client_rate_limiter_duration_seconds",
            "Waiting for our own limit of requests to the API server",
            ["verb", "host"],
        )
        self.watches = counter(
            "shunter_watch_restarts",
            "Watches that were restarted, by the reason why the previous one ended",
            ["resource", "reason"],
        )
        self.build = gauge("shunter_build_info", "1, with the release that runs", ["version", "python"])
        self.build.labels(__version__, platform.python_version()).set(1)
        self.leading = gauge("leader_election_master_status", "1 while this process leads", ["name"])

    def of_controller(self, name: str) -> ControllerMetrics:
        """The metrics of one controller and its queue."""
        return ControllerMetrics(self, name)

    def of_webhooks(self) -> WebhookMetrics:
        """The metrics of a webhook server."""
        return WebhookMetrics(self)

    def request_counter(self, host: str) -> Callable[[str, str], None]:
        """What a `CountingTransport` tells about requests to this host."""
        return lambda method, code: self.requests.labels(code, method, host).inc()

    def rate_limiter(self, host: str) -> Callable[[str, float], None]:
        """What a `LimitedTransport` tells about requests to this host."""
        return lambda method, seconds: self.throttled.labels(method, host).observe(seconds)

    def restart_counter(self, resource: str) -> Callable[[str], None]:
        """What an `Informer` tells about its watches."""
        return lambda reason: self.watches.labels(resource, reason).inc()

    def follow_leader(self, lease: str, is_leader: Callable[[], bool]) -> None:
        """`leader_election_master_status` of the lease: 1 while `is_leader` says so, which is asked at each scrape."""
        self.leading.labels(lease).set_function(lambda: float(is_leader()))

    def follow_certificate(self, prefix: str, certificate: Callable[[], bytes]) -> None:
        """`PREFIX_certificate_expiry_timestamp_seconds` of the certificate (PEM) that is served; 0 while there is none."""
        from shunter.kube.tls.certificates import expires_at

        name = f"{prefix}_certificate_expiry_timestamp_seconds"
        gauge = Gauge(name, "When the certificate that is served expires, in Unix time", registry=self.registry)
        gauge.set_function(lambda: expires_at(pem).timestamp() if (pem := certificate()) else 0.0)

    def answer(self) -> Answer:
        """What /metrics says."""
        return Answer(200, generate_latest(self.registry).decode(), CONTENT_TYPE_LATEST)


class WebhookMetrics:
    """What a `WebhookServer` tells."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def began(self, path: str) -> None:
        """Counts one more admission request in progress."""
        self._metrics.webhook_active.labels(path).inc()

    def answered(self, path: str, code: int, seconds: float) -> None:
        """Counts the request under its HTTP code, with its seconds, and one less in progress."""
        self._metrics.webhook_active.labels(path).dec()
        self._metrics.webhook_requests.labels(path, str(code)).inc()
        self._metrics.webhook_seconds.labels(path).observe(seconds)

    def decided(self, path: str, *, is_allowed: bool) -> None:
        """Counts a verdict as `allowed` or `denied`."""
        self._metrics.webhook_decisions.labels(path, "allowed" if is_allowed else "denied").inc()


class ControllerMetrics:
    """Both `QueueMetrics` and `ReconcileMetrics` of one controller."""

    def __init__(self, metrics: Metrics, name: str) -> None:
        self._metrics = metrics
        self._name = name
        self._adds = metrics.queue_adds.labels(name, name)
        self._retries = metrics.queue_retries.labels(name, name)
        self._queue_seconds = metrics.queue_seconds.labels(name, name)
        self._work_seconds = metrics.work_seconds.labels(name, name)
        self._errors = metrics.errors.labels(name)
        self._panics = metrics.panics.labels(name)
        self._reconcile_seconds = metrics.reconcile_seconds.labels(name)
        self._active = metrics.active.labels(name)
        for result in get_args(
            Result
        ):  # there from the start, as with controller-runtime: a rate needs a sample before the first
            metrics.reconciles.labels(name, result)

    def follow(self, controller: Controller[Any]) -> None:
        """Adds what is read from the controller at each scrape."""
        queue = controller.queue
        self._metrics.workers.labels(self._name).set(controller.workers)
        self._metrics.queue_depth.labels(self._name, self._name).set_function(queue.waiting)
        self._metrics.unfinished_seconds.labels(self._name, self._name).set_function(lambda: queue.oldest_work()[0])
        self._metrics.longest_seconds.labels(self._name, self._name).set_function(lambda: queue.oldest_work()[1])
        self._metrics.oldest_seconds.labels(self._name, self._name).set_function(queue.oldest_waiting)

    def added(self) -> None:
        """Counts in `workqueue_adds_total`."""
        self._adds.inc()

    def dequeued(self, waited: float) -> None:
        """Adds its seconds to `workqueue_queue_duration_seconds`, and one active worker."""
        self._queue_seconds.observe(waited)
        self._active.inc()

    def finished(self, worked: float) -> None:
        """Adds its seconds to `workqueue_work_duration_seconds`, and takes one active worker off."""
        self._work_seconds.observe(worked)
        self._active.dec()

    def retried(self) -> None:
        """Counts in `workqueue_retries_total`."""
        self._retries.inc()

    def reconciled(self, result: Result, seconds: float) -> None:
        """Counts the result and its seconds; an `error` also in `controller_runtime_reconcile_errors_total`."""
        self._metrics.reconciles.labels(self._name, result).inc()
        self._reconcile_seconds.observe(seconds)
        if result == "error":
            self._errors.inc()

    def panicked(self) -> None:
        """Counts in `controller_runtime_reconcile_panics_total`."""
        self._panics.inc()
