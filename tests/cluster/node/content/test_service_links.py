"""The variables that tell containers about Services."""

from __future__ import annotations

import pytest

from shunter.api.core import Service, ServiceSpec
from shunter.api.meta import Json, ObjectMeta
from shunter.cluster.node.content.service_links import api_server_variables, has_variables, service_variables


def service(name: str, *ports: Json, cluster_ip: str = "10.0.0.7", namespace: str = "team") -> Service:
    return Service(metadata=ObjectMeta(name=name, namespace=namespace), spec=ServiceSpec(cluster_ip=cluster_ip, ports=ports))


def test_variables_have_kubelets_names_and_an_address_that_works_here() -> None:
    host = "my-web.team.svc.cluster.local"
    assert service_variables([service("my-web", {"port": 80, "name": "http"}, {"port": 53, "protocol": "UDP"})]) == {
        "MY_WEB_SERVICE_HOST": host,
        "MY_WEB_SERVICE_PORT": "80",
        "MY_WEB_SERVICE_PORT_HTTP": "80",
        "MY_WEB_PORT": f"tcp://{host}:80",
        "MY_WEB_PORT_80_TCP": f"tcp://{host}:80",
        "MY_WEB_PORT_80_TCP_PROTO": "tcp",
        "MY_WEB_PORT_80_TCP_PORT": "80",
        "MY_WEB_PORT_80_TCP_ADDR": host,
        "MY_WEB_PORT_53_UDP": f"udp://{host}:53",
        "MY_WEB_PORT_53_UDP_PROTO": "udp",
        "MY_WEB_PORT_53_UDP_PORT": "53",
        "MY_WEB_PORT_53_UDP_ADDR": host,
    }


@pytest.mark.parametrize(
    ("one", "told"),
    [
        pytest.param(service("web"), True, id="with-an-address"),
        pytest.param(service("web", cluster_ip="None"), False, id="headless"),
        pytest.param(service("web", cluster_ip=""), False, id="without-an-address"),
        pytest.param(service("kubernetes", namespace="default"), False, id="the-api-servers-own"),
        pytest.param(service("kubernetes"), True, id="another-of-that-name"),
    ],
)
def test_only_services_with_an_address_are_told_of(one: Service, told: bool) -> None:
    assert has_variables(one) is told
    assert bool(service_variables([one])) is told


def test_every_container_is_told_of_the_api_server() -> None:
    found = api_server_variables("kubernetes.default.svc", 443)
    assert found["KUBERNETES_SERVICE_HOST"] == "kubernetes.default.svc"
    assert found["KUBERNETES_SERVICE_PORT"] == found["KUBERNETES_SERVICE_PORT_HTTPS"] == "443"
    assert found["KUBERNETES_PORT"] == "tcp://kubernetes.default.svc:443"
