"""Settings of the operator's configuration file that more objects than the file depend on."""

from __future__ import annotations

from typing import Any

import pytest
from typer.testing import CliRunner

from install.charts import by_name, rendered
from shunter.api.meta import Json
from shunter.cli.main import application
from shunter.install import manifests
from shunter.install.values import checked
from shunter.operator import process

NAMESPACE = "shunter-system"


def installed(config: Json, **values: Any) -> dict[tuple[str, str], Json]:
    """The objects by kind and name, which are the same from Helm."""
    given = {"config": config, "namespace": {"create": False}, **values}
    objects = manifests.manifests(checked(given), namespace=NAMESPACE)
    assert by_name(rendered(given, namespace=NAMESPACE)) == by_name(objects)
    return {(one["kind"], one["metadata"]["name"]): one for one in objects}


def reviews(objects: dict[tuple[str, str], Json]) -> list[str]:
    """What the operator may ask about others."""
    rules = objects["ClusterRole", "shunter-operator"]["rules"]
    return [resource for rule in rules for resource in rule["resources"] if resource.endswith("reviews")]


@pytest.mark.parametrize("mode", ["self-managed", "cert-manager", "provided"])
def test_the_operator_knows_the_service_it_is_called_through_whoever_makes_the_certificate(
    mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else it would be ready unasked, hang up while the Service still leads to it, and name itself to pods by its own name."""
    started: list[process.OperatorOptions] = []
    monkeypatch.setattr("shunter.cli.operator.serve", started.append)
    found = installed({}, certificates={"mode": mode})
    (container,) = found["Deployment", "shunter-operator"]["spec"]["template"]["spec"]["containers"]
    assert CliRunner().invoke(application(), container["args"]).exit_code == 0
    (options,) = started
    webhooks = process.webhook_options(options, NAMESPACE)
    webhooks.check()
    assert webhooks.service in {name for kind, name in found if kind == "Service"}
    assert process.status_server_url(options, NAMESPACE) == f"https://shunter-webhook.{NAMESPACE}.svc:10443"


@pytest.mark.parametrize("is_on", [True, False])
def test_the_status_server_is_reached_only_when_its_gate_is_on(is_on: bool) -> None:
    found = installed({"featureGates": {"TrainJobStatus": is_on}, "statusServer": {"port": 12345}})
    port = {"name": "status", "port": 12345, "targetPort": "status", "protocol": "TCP"}
    assert (port in found["Service", "shunter-webhook"]["spec"]["ports"]) is is_on
    (container,) = found["Deployment", "shunter-operator"]["spec"]["template"]["spec"]["containers"]
    assert ({"name": "status", "containerPort": 12345, "protocol": "TCP"} in container["ports"]) is is_on
    (ingress,) = found["NetworkPolicy", "shunter-operator"]["spec"]["ingress"]
    assert ({"port": "status", "protocol": "TCP"} in ingress["ports"]) is is_on
    assert reviews(found) == (["tokenreviews"] if is_on else [])


def test_who_serves_no_train_jobs_asks_about_no_tokens() -> None:
    found = installed({"featureGates": {"TrainJobStatus": True}}, kinds={"TrainJob": False})
    assert reviews(found) == []


def test_guarded_metrics_are_scraped_as_they_are_served() -> None:
    config = {"metrics": {"secureServing": True, "auth": {"enabled": True}}}
    found = installed(config, monitoring="always")
    (endpoint,) = found["ServiceMonitor", "shunter-operator"]["spec"]["endpoints"]
    assert endpoint == {
        "port": "metrics",
        "interval": "30s",
        "honorLabels": True,
        "scheme": "https",
        "tlsConfig": {"insecureSkipVerify": True},
        "bearerTokenFile": "/var/run/secrets/kubernetes.io/serviceaccount/token",
    }
    assert reviews(found) == ["tokenreviews", "subjectaccessreviews"]
