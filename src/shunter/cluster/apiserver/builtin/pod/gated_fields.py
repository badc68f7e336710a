"""Fields of features that are off in Kubernetes 1.36: kube-apiserver drops them from what is written, except where the stored
object uses them: it was stored while the feature was on, or by an earlier version of the embedded cluster.

Source: k8s.io/kubernetes 1.36 `pkg/api/pod/util.go` (dropDisabledFields), `registry` (PrepareForUpdate of other kinds) and the
defaults of `pkg/features`.
"""

from __future__ import annotations

from collections.abc import Iterator

from shunter.api.meta import Json

_GATED_SOURCES = ("clusterTrustBundle", "podCertificate")


def drop_gated_fields(part: Json, old: Json | None, *names: str) -> None:
    """Drops each of these fields, in place, that the same part of the stored object does not have; `old` is None on create."""
    for name in names:
        if old is None or name not in old:
            part.pop(name, None)


def drop_gated_pod_fields(spec: Json, old: Json | None) -> None:
    """Drops fields of ContainerStopSignals, GenericWorkload, ClusterTrustBundleProjection and PodCertificateRequest from a pod
    spec, in place; each stays everywhere in it if the stored spec has it anywhere."""
    drop_gated_fields(spec, old, "schedulingGroup")
    sources = list(_projections(old or {}))
    for name in _GATED_SOURCES:
        if not any(name in source for source in sources):
            for source in _projections(spec):
                source.pop(name, None)
    if not any("stopSignal" in container["lifecycle"] for container in _containers_with_lifecycle(old or {})):
        for container in _containers_with_lifecycle(spec):
            if container["lifecycle"].pop("stopSignal", None) is not None and not container["lifecycle"]:
                del container["lifecycle"]


def _projections(spec: Json) -> Iterator[Json]:
    for volume in spec.get("volumes") or ():
        yield from volume.get("projected", {}).get("sources") or ()


def _containers_with_lifecycle(spec: Json) -> Iterator[Json]:
    for group in ("initContainers", "containers", "ephemeralContainers"):
        yield from (container for container in spec.get(group) or () if container.get("lifecycle"))
