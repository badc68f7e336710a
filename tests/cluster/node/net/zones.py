"""Services and pods whose names a test asks for."""

from __future__ import annotations

from typing import Any

from shunter.api.core import Service, ServiceSpec
from shunter.api.meta import ObjectMeta
from shunter.cluster.node.net.names import Endpoint


def service(name: str, *, not_ready: bool = False, selector: dict[str, str] | None = None) -> Service:
    wanted = {"job": "j"} if selector is None else selector
    return Service(
        metadata=ObjectMeta(name=name, namespace="ns"),
        spec=ServiceSpec(selector=wanted, cluster_ip="None", publish_not_ready_addresses=not_ready),
    )


def endpoint(number: int, **changes: Any) -> Endpoint:
    known = {
        "namespace": "ns", "name": f"p-{number}", "labels": {"job": "j"}, "hostname": f"p-{number}", "subdomain": "job",
        "address": f"10.1.0.{number}", "ready": True,
    }  # fmt: skip
    return Endpoint(**{**known, **changes})
