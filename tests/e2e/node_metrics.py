"""metrics.k8s.io for a real control plane, which has no metrics server: `kubectl top` and its autoscaler ask for it.

An aggregated API of two kinds of requests, as metrics-server answers them: what it serves, and the pods of a namespace. The
figures are what the node says of its containers at the same moment.
"""

from __future__ import annotations

import http.client
import json
import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

from conformance.installed import machine_address
from e2e.real_cluster import NODE, RealCluster
from shunter.kube.tls import certificates

GROUP, VERSION = "metrics.k8s.io", "v1beta1"
API = f"{VERSION}.{GROUP}"
NAMESPACE, SERVICE = "kube-system", "metrics-server"
PODS = {"name": "pods", "singularName": "", "namespaced": True, "kind": "PodMetrics", "verbs": ["get", "list"]}

Json = dict[str, Any]


class NodeMetrics:
    """Served while it is entered, from when the API server calls it available until it is unregistered."""

    def __init__(self, cluster: RealCluster) -> None:
        self._cluster = cluster
        self._address = machine_address()
        self._server = ThreadingHTTPServer((self._address, 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> Self:
        directory = self._cluster.plane.directory
        pair = certificates.issue(certificates.new_authority("metrics"), "metrics-server", [self._address])
        files = directory / "metrics.crt", directory / "metrics.key"
        files[0].write_bytes(pair.certificate)
        files[1].write_bytes(pair.key)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*files)
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self._thread.start()
        self._cluster.apply(*self._objects())
        self._cluster.kubectl("wait", f"apiservice/{API}", "--for=condition=Available", "--timeout=60s", timeout=70)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        # First of all: while it is registered and does not answer, no namespace can be deleted.
        self._cluster.kubectl("delete", "apiservice", API)
        self._cluster.kubectl("delete", "service,endpointslice", SERVICE, "-n", NAMESPACE)
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _objects(self) -> list[Json]:
        port = self._server.server_address[1]
        within = {"name": SERVICE, "namespace": NAMESPACE}
        spec = {
            "group": GROUP,
            "version": VERSION,
            "service": {**within, "port": 443},
            "insecureSkipTLSVerify": True,
            "groupPriorityMinimum": 100,
            "versionPriority": 100,
        }
        return [
            {
                "apiVersion": "v1",
                "kind": "Service",
                "metadata": within,
                "spec": {"ports": [{"name": "https", "port": 443, "targetPort": port}]},
            },
            {
                "apiVersion": "discovery.k8s.io/v1",
                "kind": "EndpointSlice",
                "metadata": {**within, "labels": {"kubernetes.io/service-name": SERVICE}},
                "addressType": "IPv4",
                "ports": [{"name": "https", "port": port, "protocol": "TCP"}],
                "endpoints": [{"addresses": [self._address], "conditions": {"ready": True}}],
            },
            {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": {"name": API}, "spec": spec},
        ]

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        answer = self._answer

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                found = answer(self.path)
                body = json.dumps(found).encode()
                self.send_response(200 if found else 404)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                """Nothing."""

        return Handler

    def _answer(self, request: str) -> Json:
        url = urlsplit(request)
        match url.path.strip("/").split("/"):
            case ["apis", group, version] if (group, version) == (GROUP, VERSION):
                return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": f"{GROUP}/{VERSION}", "resources": [PODS]}
            case ["apis", _, _, "namespaces", namespace, "pods"]:
                return self._pods(namespace, parse_qs(url.query).get("labelSelector", [""])[0])
        return {}

    def _pods(self, namespace: str, labels: str) -> Json:
        selector = ("-l", labels) if labels else ()
        wanted = {pod["metadata"]["uid"] for pod in self._cluster.get("pods", "-n", namespace, *selector)["items"]}
        measured = [pod for pod in self._summary()["pods"] if pod["podRef"]["uid"] in wanted]
        return {"kind": "PodMetricsList", "apiVersion": f"{GROUP}/{VERSION}", "metadata": {}, "items": [*map(metrics, measured)]}

    def _summary(self) -> Json:
        """As metrics-server reads it: from the node itself."""
        plane = self._cluster.plane
        port = self._cluster.get("node", NODE)["status"]["daemonEndpoints"]["kubeletEndpoint"]["Port"]
        context = ssl._create_unverified_context()
        context.load_cert_chain(plane.directory / "kubelet-client.crt", plane.directory / "kubelet-client.key")
        connection = http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=30)
        try:
            connection.request("GET", "/stats/summary")
            summary: Json = json.loads(connection.getresponse().read())
            return summary
        finally:
            connection.close()


def metrics(pod: Json) -> Json:
    """The PodMetrics of a pod in a node's summary."""
    usages = [
        {
            "name": container["name"],
            "usage": {"cpu": f"{container['cpu']['usageNanoCores']}n", "memory": str(container["memory"]["workingSetBytes"])},
        }
        for container in pod["containers"]
    ]
    first = pod["containers"][0]["cpu"]
    return {
        "metadata": {"name": pod["podRef"]["name"], "namespace": pod["podRef"]["namespace"]},
        "timestamp": first["time"],
        "window": f"{first['windowSeconds']:g}s",
        "containers": usages,
    }
