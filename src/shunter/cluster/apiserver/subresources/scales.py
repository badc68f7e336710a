"""The autoscaling/v1 Scale that stands for an object on its scale subresource."""

from __future__ import annotations

from shunter.api.meta import Json
from shunter.api.resources import Resource
from shunter.cluster.apiserver.kinds import ScalePaths, value_at
from shunter.cluster.apiserver.printers.columns import format_selector

SCALES = Resource("autoscaling", "v1", "Scale", "scales")


def scale_of(document: Json, paths: ScalePaths) -> Json:
    """The autoscaling/v1 Scale of an object."""
    metadata = document["metadata"]
    shown: Json = {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {
            name: metadata[name]
            for name in ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
            if name in metadata
        },
        "spec": {},
        "status": {"replicas": value_at(document, paths.status_replicas) or 0},
    }
    replicas = value_at(document, paths.spec_replicas)
    if replicas:
        shown["spec"]["replicas"] = replicas
    selector = value_at(document, paths.label_selector) if paths.label_selector else None
    if selector and not isinstance(selector, str) and all(isinstance(value, str) for value in selector.values()):
        selector = {"matchLabels": selector}  # of a ReplicationController
    if selector:
        shown["status"]["selector"] = selector if isinstance(selector, str) else format_selector(selector)
    return shown
