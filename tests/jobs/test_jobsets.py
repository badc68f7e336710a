"""Which JobSets are read for a list of jobs, and whose each is."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy

import pytest

from job_evidence import jobset, v1_job, v2_job
from jobs.test_evidence import Lists
from shunter.api.meta import Json
from shunter.jobs.jobsets import jobsets_of_all
from shunter.kube.client import Client
from shunter.kube.errors import ConnectionProblem
from shunter.kube.transport import Response

COMPLETE: Json = {"conditions": [{"type": "Complete", "status": "True", "reason": "AllJobsCompleted", "message": "done"}]}


def jobset_of(job: Json, **metadata: str) -> Json:
    found = deepcopy(jobset()[0])
    owner = {"apiVersion": job["apiVersion"], "kind": "TrainJob", "name": "j", "uid": job["metadata"]["uid"], "controller": True}
    found["metadata"] = {"name": "j", "namespace": job["metadata"]["namespace"], "ownerReferences": [owner], **metadata}
    return found


def named(job: Json, namespace: str, uid: str) -> Json:
    return {**job, "metadata": {**job["metadata"], "namespace": namespace, "uid": uid}}


async def test_the_jobset_of_a_job_is_found_by_its_uid() -> None:
    job = v2_job()
    found = await jobsets_of_all(Client(Lists(jobsets=[jobset_of(job)])), [job], "")
    assert list(found) == [job["metadata"]["uid"]]
    assert found[job["metadata"]["uid"]]["spec"]["replicatedJobs"]


async def test_the_jobset_of_an_earlier_job_of_the_name_is_not_its_own() -> None:
    job = v2_job()
    earlier = named(job, job["metadata"]["namespace"], "u-earlier")
    assert await jobsets_of_all(Client(Lists(jobsets=[jobset_of(earlier)])), [job], "") == {}


async def test_jobs_of_one_name_in_two_namespaces_keep_their_own() -> None:
    first, second = named(v2_job(), "a", "u-a"), named(v2_job(), "b", "u-b")
    found = await jobsets_of_all(Client(Lists(jobsets=[jobset_of(second), jobset_of(first)])), [first, second], "")
    assert {uid: one["metadata"]["namespace"] for uid, one in found.items()} == {"u-a": "a", "u-b": "b"}


@pytest.mark.parametrize(
    ("job", "is_asked"),
    [
        (v1_job(), False),
        (v2_job(), True),
        (v2_job(2, **COMPLETE), False),
        (v2_job(None, **COMPLETE), True),
    ],
    ids=["v1", "unfinished", "finished", "finished, with its runtime's number of nodes"],
)
async def test_jobsets_are_listed_only_for_jobs_that_need_them(job: Json, is_asked: bool) -> None:
    server = Lists()
    assert await jobsets_of_all(Client(server), [job], "") == {}
    assert any(path.endswith("/jobsets") for path in server.asked) == is_asked


async def test_who_may_not_list_jobsets_sees_jobs_without_them() -> None:
    assert await jobsets_of_all(Client(Lists(jobsets=None)), [v2_job()], "") == {}


class Away(Lists):
    async def request(
        self, method: str, path: str, *, params: Mapping[str, str] = {}, headers: Mapping[str, str] = {}, body: bytes = b""
    ) -> Response:
        raise ConnectionProblem("no answer")


async def test_a_server_that_is_away_is_no_server_without_jobsets() -> None:
    with pytest.raises(ConnectionProblem):
        await jobsets_of_all(Client(Away()), [v2_job()], "")
