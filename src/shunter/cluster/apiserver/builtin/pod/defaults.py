"""Defaults of pods and pod templates. Objects are in Go's form (schema.golang): absent means empty.

Source: k8s.io/kubernetes 1.36 `apis/core/v1` defaults; compared with a real API server.
"""

from __future__ import annotations

from typing import Any

from shunter.api.meta import Json
from shunter.cluster.apiserver.builtin.pod.resources import containers_of, default_pod_level_requests

_FILE_MODE = 0o644
_VOLUME_SOURCES_WITH_MODE = ("secret", "configMap", "downwardAPI", "projected")


def default_pod(pod: Json) -> None:
    """What a pod gets beyond its template: requests from limits, service links, host ports, its address among its addresses."""
    spec, status = pod["spec"], pod.get("status") or {}
    if "podIP" in status and (not status.get("podIPs") or status["podIPs"][0].get("ip") != status["podIP"]):
        status["podIPs"] = [{"ip": status["podIP"]}]
    default_pod_spec(spec)
    for container in containers_of(spec):
        resources = container["resources"]
        if limits := resources.get("limits"):
            resources["requests"] = {**limits, **resources.get("requests", {})}
    default_pod_level_requests(spec)
    spec.setdefault("enableServiceLinks", True)
    if spec.get("hostNetwork"):
        for container in containers_of(spec):
            for port in container.get("ports", ()):
                port.setdefault("hostPort", port.get("containerPort", 0))


def default_pod_spec(spec: Json) -> None:
    """What every pod spec gets, in templates too."""
    spec.setdefault("dnsPolicy", "ClusterFirst")
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("securityContext", {})
    spec.setdefault("terminationGracePeriodSeconds", 30)
    spec.setdefault("schedulerName", "default-scheduler")
    if account := spec.get("serviceAccountName") or spec.get("serviceAccount"):
        spec["serviceAccountName"] = spec["serviceAccount"] = account
    for volume in spec.get("volumes", ()):
        _default_volume(volume)
    for container in spec.get("containers") or ():
        _default_container(container)
    for container in (*spec.get("initContainers", ()), *spec.get("ephemeralContainers", ())):
        _default_container(container)


def image_tag(image: str) -> str:
    """The tag of an image reference; `latest` when it names neither tag nor digest."""
    name, digest, _ = image.partition("@")
    _, colon, tag = name.rpartition("/")[2].partition(":")
    if colon:
        return tag
    return "" if digest else "latest"


def _default_container(container: Json) -> None:
    latest = image_tag(container.get("image", "")) == "latest"
    container.setdefault("imagePullPolicy", "Always" if latest else "IfNotPresent")
    container.setdefault("terminationMessagePath", "/dev/termination-log")
    container.setdefault("terminationMessagePolicy", "File")
    for port in container.get("ports", ()):
        port.setdefault("protocol", "TCP")
    for variable in container.get("env", ()):
        source = variable.get("valueFrom", {})
        _default_field(source)
        if "fileKeyRef" in source:
            source["fileKeyRef"].setdefault("optional", False)
    for probe in ("livenessProbe", "readinessProbe", "startupProbe"):
        if probe in container:
            _default_probe(container[probe])
    lifecycle = container.get("lifecycle", {})
    for hook in ("postStart", "preStop"):
        _default_http(lifecycle.get(hook, {}))


def _default_probe(probe: Json) -> None:
    probe.setdefault("timeoutSeconds", 1)
    probe.setdefault("periodSeconds", 10)
    probe.setdefault("successThreshold", 1)
    probe.setdefault("failureThreshold", 3)
    _default_http(probe)
    if "grpc" in probe:
        probe["grpc"]["service"] = probe["grpc"].get("service") or ""


def _default_http(handler: Json) -> None:
    if http := handler.get("httpGet"):
        http.setdefault("path", "/")
        http.setdefault("scheme", "HTTP")


def _default_volume(volume: Json) -> None:
    if volume.keys() <= {"name"}:
        volume["emptyDir"] = {}
    for source in _VOLUME_SOURCES_WITH_MODE:
        if source in volume:
            volume[source].setdefault("defaultMode", _FILE_MODE)
    for item in volume.get("downwardAPI", {}).get("items", ()):
        _default_field(item)
    for projection in volume.get("projected", {}).get("sources") or ():
        if "serviceAccountToken" in projection:
            projection["serviceAccountToken"].setdefault("expirationSeconds", 3600)
        for item in projection.get("downwardAPI", {}).get("items", ()):
            _default_field(item)
    if "hostPath" in volume:
        volume["hostPath"].setdefault("type", "")
    if template := volume.get("ephemeral", {}).get("volumeClaimTemplate"):
        template["spec"].setdefault("volumeMode", "Filesystem")
    if "iscsi" in volume:
        volume["iscsi"].setdefault("iscsiInterface", "default")
    if "image" in volume:
        latest = image_tag(volume["image"].get("reference", "")) == "latest"
        volume["image"].setdefault("pullPolicy", "Always" if latest else "IfNotPresent")


def _default_field(source: dict[str, Any]) -> None:
    if "fieldRef" in source:
        source["fieldRef"].setdefault("apiVersion", "v1")
