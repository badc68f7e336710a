"""Fields of features that are off in Kubernetes 1.36: kube-apiserver drops them from every pod and pod template.

Source: k8s.io/kubernetes 1.36 `pkg/api/pod/util.go` (dropDisabledFields) and the defaults of `pkg/features`.
"""

from __future__ import annotations

from shunter.api.meta import Json

_GATED_SOURCES = ("clusterTrustBundle", "podCertificate")


def drop_gated_fields(spec: Json) -> None:
    """Drops them in place: ContainerStopSignals, GenericWorkload, ClusterTrustBundleProjection, PodCertificateRequest are off."""
    spec.pop("schedulingGroup", None)
    for volume in spec.get("volumes") or ():
        for source in volume.get("projected", {}).get("sources") or ():
            for name in _GATED_SOURCES:
                source.pop(name, None)
    for group in ("initContainers", "containers", "ephemeralContainers"):
        for container in spec.get(group) or ():
            if (lifecycle := container.get("lifecycle")) and lifecycle.pop("stopSignal", None) is not None and not lifecycle:
                del container["lifecycle"]
