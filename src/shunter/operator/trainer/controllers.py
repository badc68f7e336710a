"""Puts the trainer's controllers into a manager."""

from __future__ import annotations

from collections.abc import Mapping

from shunter.api.jobset import JobSet
from shunter.api.resources import CONFIG_MAPS, JOBSETS, TRAIN_JOBS, Resource
from shunter.api.trainer.trainjob import TrainJob
from shunter.kube.informer import Informer
from shunter.kube.manager import Manager
from shunter.operator.trainer.reconciler import RUNTIME_INDEX, RUNTIMES, RuntimeReconciler, TrainJobReconciler, by_runtime
from shunter.operator.trainer.views import Runtime, Snapshot

COMPONENT = "trainer-trainjob-controller"
"""The name under which upstream's controller reports events."""

DEFAULT_WORKERS = 4


def runtime_informers(manager: Manager) -> Mapping[Resource, Informer[Runtime]]:
    return {resource: manager.informer(resource, Runtime) for resource in RUNTIMES}


def snapshot_informer(manager: Manager) -> Informer[Snapshot]:
    return manager.informer(CONFIG_MAPS, Snapshot)


def jobset_informer(manager: Manager) -> Informer[JobSet]:
    return manager.informer(JOBSETS, JobSet)


def add_controllers(manager: Manager, *, workers: int = DEFAULT_WORKERS) -> None:
    jobs = manager.informer(TRAIN_JOBS, TrainJob, indexes={RUNTIME_INDEX: by_runtime})
    runtimes, snapshots, jobsets = runtime_informers(manager), snapshot_informer(manager), jobset_informer(manager)
    stores = {resource: informer.store for resource, informer in runtimes.items()}
    reconciler = TrainJobReconciler(
        jobs.store, stores, snapshots.store, jobsets.store, is_jobset_installed=lambda: not jobsets.is_kind_missing
    )
    manager.controller(
        "trainjob_controller",
        reconciler,
        primary=jobs,
        owned=(jobsets, snapshots),
        mapped=[(informer, reconciler.waiting_for(resource)) for resource, informer in runtimes.items()],
        optional=(jobsets,),
        workers=workers,
        recorder=manager.recorder(COMPONENT),
    )
    for resource, informer in runtimes.items():
        name = f"{resource.kind.lower()}_controller"
        manager.controller(name, RuntimeReconciler(resource, informer.store), primary=informer, workers=1)
