"""The services of pods."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from shunter.api.meta import Json
from shunter.operator.training.frameworks import framework_of
from shunter.operator.training.job import AnyJob
from shunter.operator.training.replicas import desired_pods
from shunter.operator.training.services import desired_services, service_ports

PYTORCH = framework_of("PyTorchJob")
MakeJob = Callable[..., AnyJob]


def test_each_pod_has_a_headless_service_of_its_name(make_job: MakeJob) -> None:
    job = make_job()
    services = desired_services(PYTORCH, job)
    assert [service["metadata"]["name"] for service in services] == [
        pod["metadata"]["name"] for pod in desired_pods(PYTORCH, job)
    ]
    assert services[0]["spec"] == {
        "clusterIP": "None",
        "selector": services[0]["metadata"]["labels"],
        "ports": [{"name": "pytorchjob-port", "port": 23456}],
    }


@pytest.mark.parametrize(
    ("ports", "wanted"),
    [
        pytest.param([(1, ""), (2, "")], [{"port": 2}], id="of two unnamed ones the last stays"),
        pytest.param([(1, ""), (2, "a")], [{"name": "a", "port": 2}], id="an unnamed one gives way to others"),
        pytest.param(
            [(1, "a"), (1, "b"), (2, "c")], [{"name": "a", "port": 1}, {"name": "c", "port": 2}], id="a number is there once"
        ),
    ],
)
def test_a_service_has_ports_that_the_api_server_takes(ports: list[tuple[int, str]], wanted: list[Json]) -> None:
    given = [{"containerPort": number, **({"name": name} if name else {})} for number, name in ports]
    assert service_ports({"spec": {"containers": [{"name": "pytorch", "ports": given}]}}, "pytorch") == wanted
