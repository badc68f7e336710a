"""What is said about objects, and what is not: fields that changed, other managers, rollouts that hang."""

from __future__ import annotations

from typing import Any

import pytest

from shunter.errors import InputError
from shunter.install.changes import MANAGED_BY, MARK, Change, change, changed_fields, is_left
from shunter.install.kinds import RESOURCES
from shunter.install.values import checked, defaults, merged, parsed, schema
from shunter.install.waiting import pod_troubles, rollout_trouble


@pytest.mark.parametrize(
    ("before", "after", "paths"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": {"b": 1}}, {"a": {"b": 2, "c": 3}}, ["a.b", "a.c"]),
        ({"a": [{"b": 1}, 2]}, {"a": [{"b": 1}, 3]}, ["a[1]"]),
        ({"a": [1]}, {"a": [1, 2]}, ["a"]),
        ({"a": {"b": 1}}, {"a": None}, ["a"]),
    ],
    ids=["equal", "keys", "an element", "a longer list", "an object that goes"],
)
def test_changed_fields_are_named_by_their_path(before: Any, after: Any, paths: list[str]) -> None:
    assert sorted(changed_fields(before, after)) == paths


@pytest.mark.parametrize(
    ("kind", "labels", "is_there", "left"),
    [
        ("Namespace", {}, True, True),
        ("Namespace", {MANAGED_BY: MARK}, True, False),
        ("Namespace", {}, False, False),
        ("ServiceAccount", {}, True, False),
    ],
    ids=["a namespace of others", "one of ours", "a new one", "another kind"],
)
def test_only_a_namespace_of_others_is_left_as_it_is(kind: str, labels: dict[str, str], is_there: bool, left: bool) -> None:
    wanted = {"apiVersion": "v1", "kind": kind, "metadata": {"name": "a"}}
    present = {**wanted, "metadata": {"name": "a", "labels": labels}} if is_there else None
    assert is_left(wanted, present) is left


def test_what_the_server_counts_and_reports_is_no_change() -> None:
    metadata = {"name": "a", "namespace": "n"}
    wanted = {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {}}
    before = {**wanted, "metadata": {**metadata, "resourceVersion": "1"}, "status": {"loadBalancer": {}}}
    after = {**wanted, "metadata": {**metadata, "resourceVersion": "2", "managedFields": []}}
    assert change(wanted, before, after) == Change("unchanged", "Service n/a")


@pytest.mark.parametrize(
    ("status", "trouble"),
    [
        ({}, "the Deployment has not been looked at yet"),
        ({"observedGeneration": 2, "updatedReplicas": 1}, "1 of 2 new pods are made"),
        ({"observedGeneration": 2, "updatedReplicas": 2, "replicas": 3}, "1 old pods are still there"),
        ({"observedGeneration": 2, "updatedReplicas": 2, "replicas": 2, "availableReplicas": 1}, "1 of 2 pods are ready"),
        ({"observedGeneration": 2, "updatedReplicas": 2, "replicas": 2, "availableReplicas": 2}, ""),
    ],
    ids=["not seen", "new pods missing", "old pods left", "not ready", "complete"],
)
def test_a_rollout_is_complete_only_with_all_new_pods_ready_and_no_old_ones(status: dict[str, int], trouble: str) -> None:
    assert rollout_trouble({"metadata": {"generation": 2}, "spec": {"replicas": 2}, "status": status}) == trouble


def test_an_operator_that_runs_elsewhere_has_nothing_to_roll_out() -> None:
    assert rollout_trouble({"metadata": {"generation": 1}, "spec": {"replicas": 0}, "status": {"observedGeneration": 1}}) == ""


def test_pods_say_why_they_do_not_run_each_reason_once() -> None:
    unscheduled = {"conditions": [{"type": "PodScheduled", "status": "False", "message": "0/1 nodes are available"}]}
    pulling = {"containerStatuses": [{"state": {"waiting": {"reason": "ErrImagePull", "message": "not found"}}}]}
    creating = {"containerStatuses": [{"state": {"waiting": {"reason": "ContainerCreating"}}}]}
    pods = [{"status": status} for status in (unscheduled, pulling, pulling, creating, {})]
    assert pod_troubles(pods) == ["0/1 nodes are available", "ErrImagePull: not found"]


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
