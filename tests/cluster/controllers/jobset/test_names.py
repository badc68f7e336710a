"""Names and host names of a JobSet's parts."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from shunter.api.jobset import JobSet
from shunter.cluster.controllers.jobset.names import (
    claim_name,
    coordinator_endpoint,
    has_host_names,
    job_name,
    job_names,
    owner,
    subdomain,
)


def jobset(**spec: Any) -> JobSet:
    return msgspec.convert({"metadata": {"name": "x", "namespace": "n", "uid": "u"}, "spec": spec}, JobSet)


def test_jobs_are_named_by_jobset_replicated_job_and_index() -> None:
    of = jobset(replicatedJobs=[{"name": "b", "replicas": 2}, {"name": "a", "replicas": 1}, {"name": "none", "replicas": 0}])
    assert job_names(of) == ["x-b-0", "x-b-1", "x-a-0"]
    assert job_name(of, "b", 12) == "x-b-12"
    assert claim_name(of, "data") == "data-x"


@pytest.mark.parametrize(
    ("network", "domain", "has_names"),
    [
        pytest.param(None, "x", True, id="absent, as admission defaults it"),
        pytest.param({}, "x", True, id="empty"),
        pytest.param({"enableDNSHostnames": False}, "x", False, id="switched off"),
        pytest.param({"subdomain": "s"}, "s", True, id="with a subdomain"),
        pytest.param({"subdomain": ""}, "x", True, id="with an empty subdomain"),
    ],
)
def test_pods_have_host_names_unless_the_network_says_otherwise(network: Any, domain: str, has_names: bool) -> None:
    of = jobset(network=network)
    assert (subdomain(of), has_host_names(of)) == (domain, has_names)


@pytest.mark.parametrize(
    ("spec", "endpoint"),
    [
        pytest.param({}, "", id="none"),
        pytest.param({"coordinator": {"replicatedJob": "a"}}, "x-a-0-0.x", id="the first pod of the first Job"),
        pytest.param(
            {"coordinator": {"replicatedJob": "a", "jobIndex": 1, "podIndex": 2}, "network": {"subdomain": "s"}},
            "x-a-1-2.s",
            id="with indexes and a subdomain",
        ),
    ],
)
def test_the_coordinator_is_a_host_name(spec: Any, endpoint: str) -> None:
    assert coordinator_endpoint(jobset(**spec)) == endpoint


def test_parts_are_controlled_by_the_jobset() -> None:
    assert owner(jobset()) == {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "name": "x",
        "uid": "u",
        "controller": True,
        "blockOwnerDeletion": True,
    }
