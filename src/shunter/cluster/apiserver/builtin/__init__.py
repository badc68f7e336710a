"""The built-in kinds: what kubectl, SDKs and controllers use of Kubernetes' own. A module per family."""

from __future__ import annotations

from shunter.api.resources import (
    CONFIG_MAPS,
    CORE_EVENTS,
    CUSTOM_RESOURCE_DEFINITIONS,
    EVENTS,
    HORIZONTAL_POD_AUTOSCALERS,
    JOBS,
    MUTATING_WEBHOOKS,
    NAMESPACES,
    PERSISTENT_VOLUME_CLAIMS,
    PODS,
    SECRETS,
    SERVICES,
    VALIDATING_WEBHOOKS,
    Resource,
)
from shunter.cluster.apiserver.builtin import plain
from shunter.cluster.apiserver.builtin.typed import WORKLOAD_SCALE, typed
from shunter.cluster.apiserver.kinds import Kind


def kinds() -> list[Kind]:
    """Every built-in kind, in discovery's order of groups."""
    return [
        typed(NAMESPACES, short_names=("ns",), has_status=True, tracks_generation=False, selectable_fields=("status.phase",)),
        typed(
            PODS,
            short_names=("po",),
            categories=("all",),
            has_status=True,
            graceful_deletion=True,
            selectable_fields=("spec.nodeName", "status.phase"),
        ),
        typed(SERVICES, short_names=("svc",), categories=("all",), has_status=True, tracks_generation=False),
        typed(CONFIG_MAPS, short_names=("cm",), tracks_generation=False),
        typed(SECRETS, tracks_generation=False, selectable_fields=("type",)),
        typed(
            CORE_EVENTS, short_names=("ev",), durable=False, tracks_generation=False, selectable_fields=("involvedObject.name",)
        ),
        typed(EVENTS, short_names=("ev",), durable=False, tracks_generation=False),
        typed(PERSISTENT_VOLUME_CLAIMS, short_names=("pvc",), has_status=True, tracks_generation=False),
        typed(
            Resource("", "v1", "PersistentVolume", "persistentvolumes", False),
            short_names=("pv",),
            has_status=True,
            tracks_generation=False,
        ),
        typed(JOBS, categories=("all",), has_status=True),
        typed(Resource("batch", "v1", "CronJob", "cronjobs"), short_names=("cj",), categories=("all",), has_status=True),
        *(
            typed(
                Resource("apps", "v1", kind, plural),
                short_names=(short,),
                categories=("all",),
                has_status=True,
                scale=WORKLOAD_SCALE if plural != "daemonsets" else None,
            )
            for kind, plural, short in (
                ("DaemonSet", "daemonsets", "ds"),
                ("Deployment", "deployments", "deploy"),
                ("ReplicaSet", "replicasets", "rs"),
                ("StatefulSet", "statefulsets", "sts"),
            )
        ),
        typed(HORIZONTAL_POD_AUTOSCALERS, short_names=("hpa",), categories=("all",), has_status=True),
        typed(Resource("scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", False), short_names=("pc",)),
        typed(
            Resource("storage.k8s.io", "v1", "StorageClass", "storageclasses", False),
            short_names=("sc",),
            tracks_generation=False,
        ),
        typed(CUSTOM_RESOURCE_DEFINITIONS, short_names=("crd", "crds"), categories=("api-extensions",), has_status=True),
        typed(MUTATING_WEBHOOKS, categories=("api-extensions",)),
        typed(VALIDATING_WEBHOOKS, categories=("api-extensions",)),
        *plain.kinds(),
    ]
