"""Level `plain`: what a container is told, made true for one shared machine."""

from __future__ import annotations

import pytest

from shunter.api.core import Service, ServiceSpec
from shunter.api.meta import ObjectMeta
from shunter.cluster.node.content.mounts import Mount
from shunter.cluster.node.content.substitution import Substitution, directory, substituted, substituted_environment
from shunter.cluster.node.net.names import Endpoint
from shunter.cluster.node.runtime.protocol import HostPort

SERVICES = [
    Service(metadata=ObjectMeta(name=name, namespace="ns"), spec=ServiceSpec(selector=selector))
    for name, selector in (("mnist-master-0", {"role": "m"}), ("tj", {"job": "tj"}), ("bert", {"job": "b"}))
]
PODS = [Endpoint("ns", "mnist-master-0", {"role": "m"}, "mnist-master-0", "", "127.0.0.1", True)]
MOUNTS = (Mount("/state/v", "/workspace", False), Mount("/state/d", "/workspace/data", False))


def port_of(key: str, port: int) -> int:
    return {"mnist-master-0": 40000, "tj-node-0-0.tj": 50000, "me": 60000}[key] + port % 1000


WAYS = {("status.svc", 10443): HostPort("127.0.0.1", 4711)}
SUBSTITUTION = Substitution(directory("ns", SERVICES, PODS, "tj"), "me", MOUNTS, port_of, WAYS)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("mnist-master-0", "127.0.0.1", id="service"),
        pytest.param("mnist-master-0:23456", "127.0.0.1:40456", id="service-and-port"),
        pytest.param("tcp://mnist-master-0.ns.svc.cluster.local:23456/x", "tcp://127.0.0.1:40456/x", id="url-with-full-name"),
        pytest.param("tj-node-0-0.tj:29500", "127.0.0.1:50500", id="host-of-a-subdomain"),
        pytest.param("tj-node-0-0.tj.ns.svc", "127.0.0.1", id="host-with-namespace"),
        pytest.param('{"ps": ["mnist-master-0:2222"]}', '{"ps": ["127.0.0.1:40222"]}', id="inside-json"),
        pytest.param("--model bert train.py", "--model bert train.py", id="a-word-that-is-also-a-service"),
        pytest.param("pypi.example:443 and a-b", "pypi.example:443 and a-b", id="names-that-are-not-ours"),
        pytest.param("/workspace/train.py", "/state/v/train.py", id="path-in-a-volume"),
        pytest.param("--data=/workspace/data:/workspace", "--data=/state/d:/state/v", id="innermost-volume-wins"),
        pytest.param("/workspaces /x/workspace /workspace.bak", "/workspaces /x/workspace /workspace.bak", id="other-paths"),
        pytest.param("https://status.svc:10443/a", "https://127.0.0.1:4711/a", id="way-out"),
        pytest.param("status.svc:1 status.svc", "status.svc:1 status.svc", id="another-port-of-a-way-out"),
        pytest.param(
            "https://x.y/jobs/mnist-master-0/a /mnist-master-0",
            "https://x.y/jobs/mnist-master-0/a /mnist-master-0",
            id="service-in-a-path",
        ),
        pytest.param("nslookup mnist-master-0; echo", "nslookup 127.0.0.1; echo", id="in-a-script"),
    ],
)
def test_texts(text: str, expected: str) -> None:
    assert substituted(text, SUBSTITUTION) == expected


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        pytest.param(
            {"MASTER_ADDR": "mnist-master-0", "MASTER_PORT": "23456"},
            {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "40456"},
            id="v1",
        ),
        pytest.param(
            {"PET_MASTER_ADDR": "tj-node-0-0.tj", "PET_MASTER_PORT": "29500", "PET_NNODES": "2"},
            {"PET_MASTER_ADDR": "127.0.0.1", "PET_MASTER_PORT": "50500", "PET_NNODES": "2"},
            id="v2",
        ),
        pytest.param(
            {"MASTER_ADDR": "localhost", "MASTER_PORT": "23456"},
            {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "60456"},
            id="own-port",
        ),
        pytest.param({"PET_RDZV_ENDPOINT": "mnist-master-0:29400"}, {"PET_RDZV_ENDPOINT": "127.0.0.1:40400"}, id="endpoint"),
        pytest.param({"PORT": "80", "EXPORT": "90"}, {"PORT": "80", "EXPORT": "90"}, id="ports-without-an-address"),
    ],
)
def test_environments(declared: dict[str, str], expected: dict[str, str]) -> None:
    assert substituted_environment(declared, SUBSTITUTION) == expected


def alias(name: str, target: str, namespace: str = "ns", **selector: str) -> Service:
    return Service(
        metadata=ObjectMeta(name=name, namespace=namespace),
        spec=ServiceSpec(type="ExternalName", external_name=target, selector=selector),
    )


@pytest.mark.parametrize(
    ("service", "key"),
    [
        pytest.param(alias("db", "mnist-master-0.ns.svc.cluster.local"), "mnist-master-0", id="a Service"),
        pytest.param(alias("db", "TJ-node-0-0.tj.ns.svc.cluster.local."), "tj-node-0-0.tj", id="a pod of a Service"),
        pytest.param(alias("db", "bert.ns.svc.cluster.local", role="m"), "bert", id="its selector is not read"),
        pytest.param(alias("db", "db.example.com"), "", id="a name outside of the cluster"),
        pytest.param(alias("db", "mnist-master-0"), "", id="no full name"),
        pytest.param(alias("db", "bert.other.svc.cluster.local"), "", id="one of another namespace"),
        pytest.param(alias("db", "db.ns.svc.cluster.local", role="m"), "", id="itself"),
        pytest.param(alias("db", "bert.ns.svc.cluster.local", namespace="other"), "", id="in another namespace"),
    ],
)
def test_an_external_name_is_another_name_for_one_of_the_namespace(service: Service, key: str) -> None:
    names = directory("ns", [*SERVICES, service], PODS, "tj")
    full = ("db", "db.ns", "db.ns.svc", "db.ns.svc.cluster.local")
    assert [names.key(name) for name in full] == [key] * 4
    assert names.key("host.db") == ""


def test_a_chain_of_external_names_is_followed() -> None:
    chain = [alias("a", "b.ns.svc.cluster.local"), alias("b", "c.other.svc.cluster.local")]
    chain.append(alias("c", "bert.ns.svc.cluster.local", namespace="other"))
    assert directory("ns", [*SERVICES, *chain], PODS, "").key("a") == "bert"
