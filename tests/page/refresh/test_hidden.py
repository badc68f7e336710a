"""What a viewer may not read, and the Role that would allow it."""

from __future__ import annotations

import yaml

from shunter.api.resources import NODES, PODS
from shunter.api.training.pytorch import PYTORCH_JOBS
from shunter.page.refresh.hidden import Refused, hidden

UNKNOWN = "why jobs do not train is not known"


def test_kinds_that_are_refused_alike_are_told_together_with_one_role() -> None:
    (told,) = hidden([Refused(PODS, "team", UNKNOWN), Refused(PYTORCH_JOBS, "team", UNKNOWN)], "ann")
    assert told.what == "pods, pytorchjobs.kubeflow.org in namespace team"
    assert told.consequence == UNKNOWN
    assert told.role.startswith("# kubectl create rolebinding shunter-page --role=shunter-page --user=ann -n team\n")
    role = yaml.safe_load(told.role)
    assert (role["kind"], role["metadata"]["namespace"]) == ("Role", "team")
    assert [(rule["apiGroups"], rule["resources"]) for rule in role["rules"]] == [
        ([""], ["pods"]),
        (["kubeflow.org"], ["pytorchjobs"]),
    ]
    assert all(rule["verbs"] == ["get", "list", "watch"] for rule in role["rules"])


def test_each_namespace_and_consequence_is_told_for_itself() -> None:
    refused = [Refused(PODS, "b", UNKNOWN), Refused(PODS, "a", UNKNOWN), Refused(PODS, "a", "no logs")]
    assert [(one.what, one.consequence) for one in hidden(refused, "ann")] == [
        ("pods in namespace a", "no logs"),
        ("pods in namespace a", UNKNOWN),
        ("pods in namespace b", UNKNOWN),
    ]


def test_who_may_read_only_some_namespaces_is_told_which_are_shown() -> None:
    refused = [Refused(PODS, "", UNKNOWN), Refused(NODES, "", "no nodes")]
    told = {one.what: one.consequence for one in hidden(refused, "ann", shown=["a", "b"])}
    assert told == {
        "nodes": "no nodes",
        "pods in all namespaces": "2 namespaces are shown (a, b); others are hidden from you.",
    }


def test_reading_all_namespaces_takes_a_cluster_role_and_an_unknown_viewer_is_a_blank_to_fill_in() -> None:
    (told,) = hidden([Refused(PODS, "", UNKNOWN, is_subject=True)], "")
    assert told.is_subject
    assert told.role.startswith("# kubectl create clusterrolebinding shunter-page --clusterrole=shunter-page --user=USER\n")
    assert yaml.safe_load(told.role)["kind"] == "ClusterRole"


def test_nothing_is_hidden_from_who_was_refused_nothing() -> None:
    assert hidden([], "ann") == ()
