"""The service behind the host names of a JobSet's pods."""

from __future__ import annotations

import msgspec
import pytest

from shunter.api.jobset import JobSet
from shunter.api.meta import Json
from shunter.cluster.controllers.jobset.service import service_of


def service(network: Json | None) -> Json | None:
    spec = {} if network is None else {"network": network}
    return service_of(msgspec.convert({"metadata": {"name": "x", "namespace": "n", "uid": "u"}, "spec": spec}, JobSet))


@pytest.mark.parametrize(
    ("network", "name", "publishes"),
    [
        pytest.param(None, "x", True, id="no network: as admission fills it in"),
        pytest.param({}, "x", True, id="an empty one"),
        pytest.param({"subdomain": "peers"}, "peers", True, id="a name of its own"),
        pytest.param({"publishNotReadyAddresses": False}, "x", False, id="addresses of ready pods only"),
    ],
)
def test_a_headless_service_has_the_pods_of_the_jobset(network: Json | None, name: str, *, publishes: bool) -> None:
    made = service(network)
    assert made is not None
    assert (made["metadata"]["name"], made["metadata"]["ownerReferences"][0]["uid"]) == (name, "u")
    assert made["spec"] == {
        "clusterIP": "None",
        "selector": {"jobset.sigs.k8s.io/jobset-name": "x"},
        "publishNotReadyAddresses": publishes,
    }


def test_without_host_names_there_is_none() -> None:
    assert service({"enableDNSHostnames": False}) is None
