"""Puts one controller for each job kind into a manager."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from shunter.api.core import Pod, Service
from shunter.api.resources import HORIZONTAL_POD_AUTOSCALERS, PODS, SERVICES, Resource
from shunter.api.scheduling.podgroups import PodGroup
from shunter.api.training.job import JobView
from shunter.kube.cache.informer import Handler
from shunter.kube.cache.mapping import own_key
from shunter.kube.controllers.manager import Manager
from shunter.kube.controllers.plan import Key
from shunter.operator.deleted_pods import Deletions
from shunter.operator.ended_pods import EndedPods
from shunter.operator.training import autoscaler
from shunter.operator.training.autoscaler import Autoscaler
from shunter.operator.training.framework import AnyFramework, Settings
from shunter.operator.training.frameworks import FRAMEWORKS
from shunter.operator.training.gang import pod_groups
from shunter.operator.training.job import controller_name
from shunter.operator.training.reconciler import (
    CHILD_SELECTOR,
    INDEXES,
    SERVICE_INDEXES,
    Gangs,
    TrainingReconciler,
    map_unowned_service,
)

DEFAULT_WORKERS = 5


def add_controllers(
    manager: Manager,
    frameworks: Iterable[AnyFramework] = FRAMEWORKS,
    *,
    default_backoff_limit: int | None = None,
    gang_scheduler: str = "",
    settings: Settings = Settings(),  # noqa: B008 -- immutable
    workers: Callable[[Resource], int | None] = lambda resource: None,
) -> None:
    """`default_backoff_limit` is for jobs that set no backoffLimit; None means that they restart without end, as upstream.
    `gang_scheduler` places the pods of a job together; empty leaves that to others. `workers` says how many jobs of a kind are
    reconciled at once, if not DEFAULT_WORKERS."""
    pods = manager.informer(PODS, Pod, label_selector=CHILD_SELECTOR, indexes=INDEXES)
    deletions = Deletions()
    pods.add_handler(deletions.changed)
    ended_pods = EndedPods()
    pods.add_handler(ended_pods.changed)
    services = manager.informer(SERVICES, Service, label_selector=CHILD_SELECTOR, indexes=SERVICE_INDEXES)
    autoscalers = manager.informer(HORIZONTAL_POD_AUTOSCALERS, Autoscaler)
    groups = [manager.informer(pod_groups(gang_scheduler), PodGroup)] if gang_scheduler else []
    count = job_counter(manager)
    for framework in (one.with_settings(settings) for one in frameworks):
        jobs = manager.informer(framework.info.resource, framework.info.view)
        name = controller_name(framework.info.resource.kind)
        kept = {
            kind.resource: manager.informer(kind.resource, kind.view, label_selector=kind.label_selector)
            for kind in framework.info.extra_kinds
        }
        reconciler = TrainingReconciler(
            framework,
            jobs.store,
            pods.store,
            services.store,
            autoscalers.store,
            deletions=deletions,
            ended_pods=ended_pods,
            default_backoff_limit=default_backoff_limit,
            gangs=Gangs(gang_scheduler, groups[0]) if groups else None,
            kept={resource: informer.store for resource, informer in kept.items()},
        )
        controller = manager.controller(
            name,
            reconciler,
            primary=jobs,
            owned=(pods, services, *kept.values()),
            # By its name, as a job may wait for the PodGroup of another to go.
            mapped=(
                (autoscalers, no_keys),
                (services, map_unowned_service(framework.info.resource)),
                *((group, own_key) for group in groups),
            ),
            optional=groups,
            workers=workers(framework.info.resource) or DEFAULT_WORKERS,
            recorder=manager.recorder(name, form="v1"),
        )
        autoscalers.add_handler(autoscaler.waking(framework.info.resource, controller.add))
        if count:
            jobs.add_handler(count(framework.info.metrics_label))


def no_keys(_: Autoscaler) -> Iterable[Key]:
    """Autoscalers are waited for before the first look, and wake jobs by `autoscaler.waking`."""
    return ()


def job_counter(manager: Manager) -> Callable[[str], Handler[JobView]] | None:
    """What makes the counting handlers; None when the process serves no metrics."""
    if manager.metrics is None:
        return None
    from shunter.operator.training.metrics import JobMetrics

    return JobMetrics(manager.metrics.registry).handler
