"""Which values an installation takes, and how wrong ones are named."""

from __future__ import annotations

from typing import Any

import pytest

from shunter.errors import InputError
from shunter.install.kinds import RESOURCES
from shunter.install.values import checked, defaults, merged, parsed, schema


@pytest.mark.parametrize(
    ("assignments", "values"),
    [
        (["replicas=3"], {"replicas": 3}),
        (["kinds.TrainJob=false", "kinds.PyTorchJob=true"], {"kinds": {"TrainJob": False, "PyTorchJob": True}}),
        (["namespaces=[a, b]"], {"namespaces": ["a", "b"]}),
        (["image.tag=1=2"], {"image": {"tag": "1=2"}}),
        (["resources={limits: {cpu: 1}}", "resources.limits.memory=1Gi"], {"resources": {"limits": {"cpu": 1, "memory": "1Gi"}}}),
    ],
)
def test_assignments_are_paths_and_yaml(assignments: list[str], values: dict[str, Any]) -> None:
    assert parsed(assignments) == values


@pytest.mark.parametrize("assignment", ["replicas", "=3", "image..tag=a", "replicas=[", ".=1"])
def test_what_is_no_assignment_is_refused_with_the_way_to_write_it(assignment: str) -> None:
    with pytest.raises(InputError, match="--set"):
        parsed([assignment])


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("gangSchedulerName", "volcano"),
        ("mpiKubectlDeliveryImage", "registry.example.com/kubectl:1"),
        ("pytorchInitContainerImage", "alpine:3.10"),
        ("image.digest", f"sha256:{64 * 'a'}"),
        ("ui.host", "shunter.example.com"),
        ("ui.frameAncestors", "https://kubeflow.example.com"),
    ],
)
def test_a_text_ends_where_its_pattern_ends(field: str, value: str) -> None:
    section, _, name = field.rpartition(".")
    given = {section: {name: value}} if section else {name: value}
    assert checked(given)
    broken = {section: {name: f"{value}\n"}} if section else {name: f"{value}\n"}
    with pytest.raises(InputError, match=name):
        checked(broken)


def test_the_schema_has_patterns_that_every_reader_knows() -> None:
    assert "\\Z" not in str(schema())


def test_later_values_win_and_null_takes_a_default_away() -> None:
    given = merged([{"resources": {"limits": {"memory": "2Gi"}}}, {"resources": {"limits": {"cpu": 1}, "requests": None}}])
    assert checked(given)["resources"] == {"limits": {"memory": "2Gi", "cpu": 1}}


def test_a_section_of_the_configuration_that_is_taken_away_is_that_of_the_installation() -> None:
    """Roles and Services are made from it."""
    given = {"config": {"featureGates": None, "leaderElection": {"resourceName": None}, "metrics": None, "statusServer": None}}
    assert checked(given) == defaults()


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"namespaces": ["a", "a"]}, "a is listed twice"),
        ({"namespaces": ["Team_A"]}, "namespaces"),
        ({"certificates": {"mode": "acme"}}, "certificates.mode"),
        ({"kinds": dict.fromkeys(RESOURCES, False)}, "all kinds are off"),
        ({"image": {"tag": 1.1}}, r"image\.tag.* docs/values\.md .* --set 'image\.tag=\"1\.10\"'"),
        ({"config": {"featureGates": True}}, "config: Expected `object`, got `bool` - at `featureGates`"),
        ({"config": {"leaderElecton": {}}}, "config: .*`leaderElecton`. Did you mean leaderElection"),
        ({"config": {"leaderElection": {"renewDeadline": "20s"}}}, "leaderElection: .* each must be longer"),
        ({"config": {"health": {"healthProbeBindAddress": ":9"}}}, "config.health.healthProbeBindAddress is ':9': .* ':8081'"),
    ],
)
def test_wrong_values_are_refused_by_name(values: dict[str, Any], named: str) -> None:
    with pytest.raises(InputError, match=named):
        checked(values)


def test_the_operator_asks_for_little_by_default() -> None:
    assert defaults()["replicas"] == 2
    assert defaults()["resources"] == {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "1Gi"}}
