"""The built-in controllers of the embedded cluster. Each rule is a pure function in a file with the rule's name; `plan` of each
controller reads them in order; I/O layers only observe.

job/, cronjob/, jobset/                  batch/v1 and JobSet
deployment/, replicaset/, statefulset/, daemonset/, workloads/    apps/v1, and what they share
scheduler/, volumes/, autoscaling/       nodes for pods; claims and PersistentVolumes; HorizontalPodAutoscalers
certificates/                            requests for certificates
disruption/, quota/                      how many pods may be evicted; what quotas count
garbage/, namespaces.py                  owners that are gone; namespaces that come and go
unassigned_pods.py                       pods deleted before they had a node
served_kinds.py, removals.py, reconciler.py    what the I/O layers share

Tests: tests/cluster/controllers, first statuses of Jobs and JobSets, which come 0.2 s later (`status_after` in job/plan.py and
jobset/plan.py), in test_first_statuses.py there; lifecycles of objects, as real controllers were recorded, in tests/recordings;
reconciler.py in test_namespaces.py and test_unassigned_pods.py, removals.py in test_namespaces.py there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from shunter.kube.client import Client
    from shunter.kube.controllers.manager import Manager
    from shunter.kube.tls.certificates import KeyPair


def register_all(
    manager: Manager,
    client: Client,
    *,
    authority: KeyPair | None = None,
    volumes: Path | None = None,
    strict_resources: bool = False,
) -> None:
    """Adds every built-in controller but the scheduler. The certificate of `authority` is published in every namespace as
    ConfigMap kube-root-ca.crt, and its key signs certificates; None does neither. Volumes are made in the directory `volumes`,
    None makes none; with `strict_resources` only of classes that exist."""
    from shunter.cluster.controllers import namespaces, unassigned_pods
    from shunter.cluster.controllers.certificates import controller as certificates
    from shunter.cluster.controllers.cronjob import controller as cronjob
    from shunter.cluster.controllers.daemonset import controller as daemonset
    from shunter.cluster.controllers.deployment import controller as deployment
    from shunter.cluster.controllers.disruption import controller as disruption
    from shunter.cluster.controllers.garbage.collector import GarbageCollector
    from shunter.cluster.controllers.job import controller as job
    from shunter.cluster.controllers.jobset import controller as jobset
    from shunter.cluster.controllers.quota import controller as quota
    from shunter.cluster.controllers.replicaset import controller as replicaset
    from shunter.cluster.controllers.statefulset import controller as statefulset
    from shunter.cluster.controllers.volumes import controller as volume_controller

    volume_controller.register(manager, client, directory=volumes, strict=strict_resources)
    job.register(manager)
    jobset.register(manager)
    for workload in (replicaset, deployment, statefulset, daemonset, cronjob, disruption):
        workload.register(manager)
    namespaces.register(manager, client, root_ca=authority.certificate.decode() if authority else "")
    certificates.register(manager, client, authority=authority)
    unassigned_pods.register(manager)
    quota.register(manager, client)
    manager.background("garbage-collector", GarbageCollector(client).run)


def register_autoscaler(manager: Manager, client: Client, *, period: float) -> None:
    """Adds the horizontal pod autoscaler, which looks every `period` seconds. It needs nodes that measure."""
    from shunter.cluster.controllers.autoscaling import controller as autoscaling

    autoscaling.register(manager, client, period=period)


def register_scheduler(manager: Manager, *, strict_resources: bool) -> None:
    """Adds the scheduler. With `strict_resources` pods that ask for more than the nodes have stay Pending."""
    from shunter.cluster.controllers.scheduler import controller as scheduler

    scheduler.register(manager, strict_resources=strict_resources)
