"""Which selectors an object has, which pods they select, and in which namespaces they look."""

from __future__ import annotations

from typing import Any

import pytest

from shunter.api.meta import Json
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.survey.neighbours.selections import Selection, selections

BERT = {"training.kubeflow.org/job-name": "bert"}
CHOSEN: Json = {"matchLabels": BERT}


def found(kind: str, spec: Any, namespace: str = "team") -> list[Selection]:
    metadata = {"name": "x", **({"namespace": namespace} if namespace else {})}
    return selections(SourceObject({"apiVersion": "a/v1", "kind": kind, "metadata": metadata, "spec": spec}, "file"))


def paths(kind: str, spec: Any) -> list[str]:
    return [".".join(map(str, one.path)) for one in found(kind, spec)]


def term(**fields: Any) -> Json:
    required = [{"topologyKey": "zone", "labelSelector": CHOSEN, **fields}]
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    return {"selector": CHOSEN, "template": {"spec": {"affinity": affinity}}}


@pytest.mark.parametrize(
    ("kind", "spec", "there"),
    [
        ("Service", {"selector": BERT}, ["spec.selector"]),
        ("Service", {"selector": {}}, []),
        ("PodDisruptionBudget", {"selector": {}}, ["spec.selector"]),
        ("PodDisruptionBudget", {"selector": "bert"}, []),
        ("Sidecar", {"workloadSelector": {"labels": BERT}}, ["spec.workloadSelector.labels"]),
        ("NetworkPolicy", {"podSelector": {}, "ingress": [{"from": [{"podSelector": CHOSEN}, {"ipBlock": {"cidr": "::/0"}}]}]},
         ["spec.podSelector", "spec.ingress.0.from.0.podSelector"]),
        ("NetworkPolicy", {"podSelector": {}, "egress": [{"to": None}, None]}, ["spec.podSelector"]),
        ("Deployment", {"selector": CHOSEN}, []),
        ("Rollout", {"selector": CHOSEN}, ["spec.selector"]),
        ("Unheard", {"deep": [{"of": CHOSEN}], "nodeSelector": CHOSEN}, ["spec.deep.0.of"]),
    ],
)  # fmt: skip
def test_selectors_of_pods_are_found(kind: str, spec: Json, there: list[str]) -> None:
    assert paths(kind, spec) == there


def test_terms_of_affinities_and_spread_constraints_are_found_in_any_pod_template() -> None:
    spec = term()
    spec["template"]["spec"]["topologySpreadConstraints"] = [{"labelSelector": CHOSEN}]
    there = [one.path[-1:] for one in found("Deployment", spec)]
    assert there == [("labelSelector",), ("labelSelector",)]


def test_only_what_a_kind_is_known_for_is_known_to_select_pods() -> None:
    assert [one.is_known for one in found("PodMonitor", {"selector": CHOSEN, "other": CHOSEN})] == [True, False]
    (monitor,) = found("ServiceMonitor", {"selector": CHOSEN})
    assert (monitor.of_services, monitor.only_reads) == (True, True)


KNOWN = {"team": {"kind": "ml"}, "other": {"kind": "web"}, "named": {}}
ML = {"matchLabels": {"kind": "ml"}}


@pytest.mark.parametrize(
    ("kind", "spec", "reach"),
    [
        ("PodMonitor", {"selector": CHOSEN}, ["team"]),
        ("PodMonitor", {"selector": CHOSEN, "namespaceSelector": {"any": True}}, ["team", "other", "named"]),
        ("PodMonitor", {"selector": CHOSEN, "namespaceSelector": {"matchNames": ["other"]}}, ["other"]),
        ("PodMonitor", {"selector": CHOSEN, "namespaceSelector": {"matchNames": []}}, ["team"]),
        ("Deployment", term(), ["team"]),
        ("Deployment", term(namespaces=["other"]), ["other"]),
        ("Deployment", term(namespaceSelector={}), ["team", "other", "named"]),
        ("Deployment", term(namespaceSelector=ML), ["team"]),
        ("Deployment", term(namespaceSelector=ML, namespaces=["named"]), ["team", "named"]),
        ("NetworkPolicy", {"ingress": [{"from": [{"podSelector": CHOSEN, "namespaceSelector": ML}]}]}, ["team"]),
        ("NetworkPolicy", {"ingress": [{"from": [{"podSelector": CHOSEN}]}]}, ["team"]),
    ],
    ids=[
        "own",
        "any",
        "names",
        "no names",
        "a term",
        "names of a term",
        "all",
        "labels",
        "labels and names",
        "a peer",
        "own peer",
    ],
)
def test_it_looks_in_the_namespaces_that_it_names_or_selects(kind: str, spec: Json, reach: list[str]) -> None:
    (one,) = (one for one in found(kind, spec) if one.path[-2:] != ("spec", "podSelector"))
    assert [name for name in KNOWN if one.looks_in(name, KNOWN)] == reach


def test_a_namespace_that_is_not_in_the_input_may_have_the_labels_but_not_another_name() -> None:
    (by_label,) = found("Deployment", term(namespaceSelector=ML))
    (by_name,) = found("Deployment", term(namespaceSelector={"matchLabels": {"kubernetes.io/metadata.name": "a"}}))
    assert (by_label.looks_in("unseen", KNOWN), by_name.looks_in("unseen", KNOWN), by_name.looks_in("a", KNOWN)) == (
        True,
        False,
        True,
    )


def test_a_manifest_without_a_namespace_may_be_applied_to_any() -> None:
    (one,) = found("Service", {"selector": BERT}, namespace="")
    assert one.looks_in("team", KNOWN)
    (other,) = found("Service", {"selector": BERT})
    assert (other.looks_in("", KNOWN), other.looks_in("other", KNOWN)) == (True, False)
