"""Puts one controller for each job kind into a manager."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from shunter.api.core import Pod, Service
from shunter.api.resources import PODS, SERVICES
from shunter.kube.informer import Handler
from shunter.kube.manager import Manager
from shunter.operator.training.framework import AnyFramework, JobView
from shunter.operator.training.frameworks import FRAMEWORKS
from shunter.operator.training.reconciler import CHILD_SELECTOR, INDEXES, SERVICE_INDEXES, TrainingReconciler


def add_controllers(
    manager: Manager, frameworks: Iterable[AnyFramework] = FRAMEWORKS, *, default_backoff_limit: int | None = None
) -> None:
    """`default_backoff_limit` is for jobs that set no backoffLimit; None means that they restart without end, as upstream."""
    pods = manager.informer(PODS, Pod, label_selector=CHILD_SELECTOR, indexes=INDEXES)
    services = manager.informer(SERVICES, Service, label_selector=CHILD_SELECTOR, indexes=SERVICE_INDEXES)
    count = job_counter(manager)
    for framework in frameworks:
        jobs = manager.informer(framework.resource, framework.view)
        name = f"{framework.resource.kind.lower()}-controller"
        reconciler = TrainingReconciler(
            framework, jobs.store, pods.store, services.store, default_backoff_limit=default_backoff_limit
        )
        manager.controller(name, reconciler, primary=jobs, owned=(pods, services), recorder=manager.recorder(name, form="v1"))
        if count:
            jobs.add_handler(count(framework.metrics_label))


def job_counter(manager: Manager) -> Callable[[str], Handler[JobView]] | None:
    """What makes the counting handlers; None when the process serves no metrics."""
    if manager.metrics is None:
        return None
    from shunter.operator.training.metrics import JobMetrics

    return JobMetrics(manager.metrics.registry).handler
