"""What a Job of a JobSet says about its place: the keys of JobSet 0.12."""

from __future__ import annotations

import hashlib

import msgspec
import pytest

from shunter.api.jobset import JobSet
from shunter.api.meta import Json
from shunter.cluster.controllers.jobset.labels import identity, placement

PREFIX = "jobset.sigs.k8s.io/"
TOPOLOGY = "alpha.jobset.sigs.k8s.io/exclusive-topology"
STRATEGY = "alpha.jobset.sigs.k8s.io/node-selector"


def jobset(*jobs: Json, annotations: dict[str, str] | None = None, restarts: int = 0, **spec: Json) -> JobSet:
    metadata = {"name": "x", "namespace": "n", "uid": "u", "annotations": annotations or {}}
    parts = {"metadata": metadata, "spec": {"replicatedJobs": jobs, **spec}, "status": {"restarts": restarts}}
    return msgspec.convert(parts, JobSet)


def replicated(name: str, replicas: int, group: str = "default", **annotations: str) -> Json:
    return {"name": name, "replicas": replicas, "groupName": group, "template": {"metadata": {"annotations": annotations}}}


THREE = (replicated("a", 2), replicated("b", 1, "other"), replicated("c", 3))


@pytest.mark.parametrize(
    ("job", "index", "in_jobset", "in_group", "group_size"),
    [
        pytest.param(0, 0, 0, 0, 5, id="the first of all"),
        pytest.param(0, 1, 1, 1, 5, id="the second of the first"),
        pytest.param(1, 0, 2, 0, 1, id="another group"),
        pytest.param(2, 2, 5, 4, 5, id="the last counts those before it, and only its group's in the group"),
    ],
)
def test_a_job_is_numbered_in_its_replicated_job_the_jobset_and_the_group(
    job: int, index: int, in_jobset: int, in_group: int, group_size: int
) -> None:
    of = jobset(*THREE)
    keys = identity(of, of.spec.replicated_jobs[job], index)
    assert keys[PREFIX + "job-index"] == str(index)
    assert keys[PREFIX + "job-global-index"] == str(in_jobset)
    assert keys[PREFIX + "job-group-index"] == str(in_group)
    assert (keys[PREFIX + "global-replicas"], keys[PREFIX + "group-replicas"]) == ("6", str(group_size))


def test_a_replicated_job_without_jobs_moves_no_number() -> None:
    of = jobset(replicated("none", 0), replicated("a", 1))
    keys = identity(of, of.spec.replicated_jobs[1], 0)
    assert (keys[PREFIX + "job-global-index"], keys[PREFIX + "global-replicas"]) == ("0", "1")


def test_a_job_is_known_by_its_key_its_run_and_its_jobset() -> None:
    of = jobset(*THREE, restarts=4)
    keys = identity(of, of.spec.replicated_jobs[2], 1)
    assert keys[PREFIX + "job-key"] == hashlib.sha1(b"n/x-c-1", usedforsecurity=False).hexdigest()
    assert (keys[PREFIX + "restart-attempt"], keys[PREFIX + "jobset-uid"]) == ("4", "u")
    assert (keys[PREFIX + "jobset-name"], keys[PREFIX + "replicatedjob-name"]) == ("x", "c")
    assert PREFIX + "coordinator" not in keys


def test_the_coordinator_is_announced_to_all() -> None:
    of = jobset(*THREE, coordinator={"replicatedJob": "a", "jobIndex": 1, "podIndex": 2}, network={"subdomain": "s"})
    assert {identity(of, one, 0)[PREFIX + "coordinator"] for one in of.spec.replicated_jobs} == {"x-a-1-2.s"}


@pytest.mark.parametrize(
    ("of_jobset", "of_job", "asked"),
    [
        pytest.param({}, {}, {}, id="nobody asks"),
        pytest.param({TOPOLOGY: "zone"}, {}, {TOPOLOGY: "zone"}, id="the JobSet"),
        pytest.param({TOPOLOGY: "zone"}, {TOPOLOGY: "rack"}, {TOPOLOGY: "rack"}, id="the replicated job is stronger"),
        pytest.param({TOPOLOGY: "zone", STRATEGY: "true"}, {}, {TOPOLOGY: "zone", STRATEGY: "true"}, id="with its strategy"),
        pytest.param({STRATEGY: "true"}, {}, {}, id="a strategy alone asks for nothing"),
    ],
)
def test_one_job_per_domain_is_asked_for_by_annotations(
    of_jobset: dict[str, str], of_job: dict[str, str], asked: dict[str, str]
) -> None:
    of = jobset(replicated("a", 1, **of_job), annotations=of_jobset)
    assert placement(of, of.spec.replicated_jobs[0]) == asked
