"""Puts the trainer's controllers into a manager."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shunter.api.jobset import JOBSET_NAME
from shunter.api.meta import MetadataOnly
from shunter.api.resources import CONFIG_MAPS, JOBS, JOBSETS, PODS, SECRETS, TRAIN_JOBS, Resource
from shunter.api.scheduling.podgroups import COSCHEDULING_POD_GROUPS, VOLCANO_POD_GROUPS, PodGroup
from shunter.api.trainer.trainjob import TrainJob
from shunter.kube.cache.informer import Informer
from shunter.kube.cache.mapping import own_key
from shunter.kube.cache.store import by_controller_uid, key_of
from shunter.kube.controllers.manager import Manager
from shunter.operator.trainer.failed_pods import FAILED_INDEX, FailedPods, failed_of, train_job_of_failed
from shunter.operator.trainer.reconciler import (
    CONTROLLER_UID,
    RUNTIME_INDEX,
    RUNTIMES,
    RuntimeReconciler,
    TrainJobReconciler,
    by_runtime,
    train_job_of,
)
from shunter.operator.trainer.snapshot import job_of_snapshot
from shunter.operator.trainer.statusserver.current_place import CurrentPlace
from shunter.operator.trainer.views import ConfigMap, JobOfSet, LiveJobSet, RankPod, Runtime

COMPONENT = "trainer-trainjob-controller"
"""The name under which upstream's controller reports events."""

DEFAULT_WORKERS = 5
POD_PAUSE_SECONDS = 1.0
"""Each pod changes some five times without failing: read one by one, these changes took a tenth of the operator's time."""


def runtime_informers(manager: Manager) -> Mapping[Resource, Informer[Runtime]]:
    """The shared informers of TrainingRuntimes and ClusterTrainingRuntimes."""
    return {resource: manager.informer(resource, Runtime) for resource in RUNTIMES}


def config_map_informer(manager: Manager) -> Informer[ConfigMap]:
    """The shared informer of all ConfigMaps, with the contents only of those that a TrainJob controls."""
    return manager.informer(CONFIG_MAPS, ConfigMap)


def jobset_informer(manager: Manager) -> Informer[LiveJobSet]:
    """The shared informer of all JobSets, whatever their owners."""
    return manager.informer(JOBSETS, LiveJobSet)


def failed_pod_informer(manager: Manager) -> tuple[Informer[RankPod], FailedPods]:
    """The informer of pods of JobSets that have a node. Changes are read once a second, but at once when a pod has failed, as the
    pod and its log may soon be deleted."""
    pods = manager.informer(
        PODS,
        RankPod,
        label_selector=JOBSET_NAME,
        field_selector="spec.nodeName!=",
        indexes={FAILED_INDEX: failed_of},
        pause=POD_PAUSE_SECONDS,
    )
    failed_pods = FailedPods(pods.store)
    pods.add_handler(failed_pods.changed)
    over = manager.informer(PODS, MetadataOnly, label_selector=JOBSET_NAME, field_selector="status.phase=Failed")
    over.add_handler(lambda old, new: pods.end_pause())
    return pods, failed_pods


def add_controllers(manager: Manager, *, workers: int = DEFAULT_WORKERS, status_server: CurrentPlace | None = None) -> None:
    """Adds the controllers of TrainJobs and of both kinds of runtimes. `status_server` is None when it is not served."""
    jobs = manager.informer(TRAIN_JOBS, TrainJob, indexes={RUNTIME_INDEX: by_runtime})
    runtimes, config_maps, jobsets = runtime_informers(manager), config_map_informer(manager), jobset_informer(manager)
    jobs_of_sets = manager.informer(JOBS, JobOfSet, label_selector=JOBSET_NAME, indexes={CONTROLLER_UID: by_controller_uid})
    pods, failed_pods = failed_pod_informer(manager)
    pod_groups = [
        manager.informer(resource, PodGroup, is_optional=True) for resource in (COSCHEDULING_POD_GROUPS, VOLCANO_POD_GROUPS)
    ]
    optional: list[Informer[Any]] = [jobsets, *pod_groups]
    companions: list[Informer[Any]] = [config_maps, manager.informer(SECRETS, MetadataOnly), *pod_groups]
    reconciler = TrainJobReconciler(
        jobs.store,
        {resource: informer.store for resource, informer in runtimes.items()},
        config_maps.store,
        jobsets.store,
        jobs_of_sets.store,
        failed_pods,
        {informer.resource: informer.store for informer in companions},
        uninstalled=lambda: frozenset(informer.resource for informer in optional if informer.is_kind_missing),
        status_server=lambda: status_server.place if status_server else None,
    )
    controller = manager.controller(
        "trainjob_controller",
        reconciler,
        primary=jobs,
        owned=(jobsets, *companions),
        mapped=[
            *((informer, reconciler.waiting_for(resource)) for resource, informer in runtimes.items()),
            (config_maps, job_of_snapshot),
            # JobSets and PodGroups have the job's name. Those that others control are in its way; a JobSet of nobody is its own.
            *((informer, own_key) for informer in optional),
            (jobs_of_sets, train_job_of),
            (pods, train_job_of_failed),
        ],
        optional=optional,
        workers=workers,
        recorder=manager.recorder(COMPONENT),
    )
    if status_server is not None:

        def enqueue_all() -> None:
            for job in jobs.store.list():
                controller.add(key_of(job))

        status_server.on_change(enqueue_all)
    if manager.metrics:
        from shunter.operator.trainer.metrics import TrainJobMetrics

        metrics = TrainJobMetrics(manager.metrics.registry)
        jobs.add_handler(metrics.job_changed)
        jobsets.add_handler(metrics.jobset_changed)
    for resource, informer in runtimes.items():
        name = f"{resource.kind.lower()}_controller"
        manager.controller(name, RuntimeReconciler(resource, informer.store), primary=informer, workers=1)
