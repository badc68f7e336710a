"""A JobSet that takes the name of one that was deleted waits for the Jobs of that to go."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import pytest

from shunter.api.batch import Job
from shunter.api.core import Service
from shunter.api.jobset import JobSet
from shunter.api.meta import Json, MetadataOnly
from shunter.cluster.controllers.jobset.controller import CONTROLLER_UID, observe
from shunter.cluster.controllers.jobset.plan import plan
from shunter.kube.cache.store import Store, by_controller_uid
from shunter.kube.controllers.plan import Create, Key

KEY = Key("n", "x")
REPLICATED = {"name": "node", "groupName": "default", "replicas": 2, "template": {"spec": {"template": {"spec": {}}}}}
JOBSET = {"metadata": {"name": "x", "namespace": "n", "uid": "new"}, "spec": {"replicatedJobs": [REPLICATED]}}


def job(owner: Json | None) -> Job:
    """The first Job of the JobSet, as it is there."""
    owners = [{"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "controller": True, **owner}] if owner else []
    return msgspec.convert({"metadata": {"name": "x-node-0", "namespace": "n", "uid": "j", "ownerReferences": owners}}, Job)


@pytest.mark.parametrize(
    ("there", "created"),
    [
        pytest.param(None, ["x-node-0", "x-node-1"], id="nothing"),
        pytest.param({"name": "x", "uid": "old"}, ["x-node-1"], id="of the JobSet before"),
        pytest.param({"name": "x", "uid": "old", "controller": False}, ["x-node-1"], id="with the JobSet before, not by it"),
        pytest.param({"kind": "Run", "name": "x", "uid": "r"}, ["x-node-0", "x-node-1"], id="of another kind of that name"),
        pytest.param({"name": "x", "uid": "new"}, ["x-node-1"], id="its own"),
        pytest.param({"name": "y", "uid": "other"}, ["x-node-0", "x-node-1"], id="of another JobSet, which the server refuses"),
        pytest.param({}, ["x-node-0", "x-node-1"], id="of nothing, which the server refuses"),
    ],
)
def test_jobs_whose_names_are_held_by_an_earlier_jobset_are_not_tried(there: Json | None, created: list[str]) -> None:
    jobsets, jobs = Store[JobSet](), Store[Job]({CONTROLLER_UID: by_controller_uid})
    jobsets.put(msgspec.convert(JOBSET, JobSet))
    if there is not None:
        jobs.put(job(there))
    observed = observe(KEY, jobsets, jobs, Store[Service](), Store[MetadataOnly]())
    assert observed is not None
    writes = plan(observed, datetime(2026, 1, 1, tzinfo=UTC)).writes
    assert [
        write.body["metadata"]["name"] for write in writes if isinstance(write, Create) and write.resource.kind == "Job"
    ] == created
