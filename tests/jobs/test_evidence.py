"""What is read to tell why jobs do not train: little, nothing in vain, and what may not be read is named."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from typing import Any

import msgspec
import pytest

from job_evidence import (
    NOW,
    ago,
    condition,
    event,
    failed,
    jobset,
    running,
    unplaced,
    v1_job,
    v1_pod,
    v2_job,
    v2_pod,
    waiting,
    workload,
)
from shunter.jobs.description import description
from shunter.jobs.evidence import NOT_UP, JobCause, completed, evidence_of, job_causes
from shunter.jobs.listing import Row
from shunter.jobs.pods_up import is_well, up
from shunter.kube.client import Client
from shunter.kube.retry import RetryPolicy
from shunter.kube.transport import Response
from shunter.operator.causes import Cause, Evidence, Position, cause
from shunter.operator.overview import overview
from shunter.operator.training.policies.deadline import EXCEEDED
from shunter.page.views.job import open_job
from shunter.page.views.jobs import JobReading, job_row, kept_job
from shunter.page.views.rank_rows import kept_pod
from shunter.page.views.view import Observed, PageOptions, Parameters, Viewer
from shunter.page.wire import JobDetail

Json = dict[str, Any]
NO_GPU = "0/1 nodes are available: 1 Insufficient nvidia.com/gpu."
MOUNT = 'MountVolume.SetUp failed for volume "code" : configmap "code" not found'
SHORT = "couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor default, 2 more needed"


class Lists:
    """A server that answers lists, by plural, and remembers what it was asked. Of kinds that are None it says 403."""

    def __init__(self, versions: tuple[str, ...] = (), **lists: list[Json] | None) -> None:
        self.asked: list[str] = []
        self._lists = lists
        self._versions = versions

    async def request(
        self, method: str, path: str, *, params: Mapping[str, str] = {}, headers: Mapping[str, str] = {}, body: bytes = b""
    ) -> Response:
        self.asked.append(path)
        plural = path.rpartition("/")[2]
        if path == "/apis":
            return answer(200, {"groups": [{"versions": [{"groupVersion": version} for version in self._versions]}]})
        items = self._lists.get(plural, [])
        if items is None:
            return answer(403, {"kind": "Status", "code": 403, "reason": "Forbidden", "message": f"{plural} is forbidden"})
        if params.get("fieldSelector") == NOT_UP:
            items = [one for one in items if one["status"].get("phase") not in ("Running", "Succeeded")]
        if plural == "pendingworkloads":
            start, limit = int(params["offset"]), int(params["limit"])
            items = items[start : start + limit]
        return answer(200, {"metadata": {"resourceVersion": "1"}, "items": items})

    def stream(
        self, method: str, path: str, *, params: Mapping[str, str] = {}, headers: Mapping[str, str] = {}
    ) -> AsyncGenerator[bytes]:
        raise AssertionError("nothing is watched")

    async def close(self) -> None:
        return


def answer(status: int, body: Json) -> Response:
    return Response(status, {}, msgspec.json.encode(body))


def pod(of: Json) -> Json:
    of["metadata"]["labels"].setdefault("training.kubeflow.org/job-name", "j")
    if "jobset.sigs.k8s.io/jobset-name" in of["metadata"]["labels"]:
        del of["metadata"]["labels"]["training.kubeflow.org/job-name"]
    return of


async def why(server: Lists, job: Json) -> JobCause:
    return (await job_causes(Client(server), [job], "", NOW))[job["metadata"]["uid"]]


def plurals(server: Lists) -> list[str]:
    return [path.rpartition("/")[2] for path in server.asked]


async def test_for_jobs_that_are_finished_or_suspended_nothing_is_read() -> None:
    server = Lists()
    done = v1_job(conditions=[{"type": "Succeeded", "status": "True"}])
    held = v2_job(spec={"suspend": True})
    held["metadata"]["uid"] = "u-held"
    found = await job_causes(Client(server), [done, held], "", NOW)
    assert server.asked == []
    assert {uid: one.cause.word for uid, one in found.items() if one.cause} == {"u-held": "Suspended"}


async def test_why_a_job_failed_does_not_depend_on_other_jobs_that_keep_no_record() -> None:
    """The pods that are read for those say less than the record of this one, whose log is not read here."""
    over = [{"type": "Failed", "status": "True", "reason": "PyTorchJobFailed", "message": "failed"}]
    said = {"rank": 0, "pod": "j-master-0", "podUID": "u", "container": "pytorch", "reason": "Error", "exitCode": 1}
    recorded = v1_job(conditions=over, rankFailures={"count": 1, "last": [{**said, "message": "ValueError: no data"}]})
    silent = v1_job(conditions=over)
    silent["metadata"] |= {"name": "silent", "uid": "u-silent"}
    ended = {"exitCode": 1, "reason": "Error", "finishedAt": ago(9)}
    pod_of_both = v1_pod("master", 0, phase="Failed", containerStatuses=[{"name": "pytorch", "state": {"terminated": ended}}])
    found = await job_causes(Client(Lists(pods=[pod(pod_of_both)])), [recorded, silent], "", NOW)
    cause = found["u-j"].cause
    assert cause is not None
    assert (cause.word, cause.text) == ("ValueError", "exit code 1: ValueError: no data")


async def test_for_jobs_that_run_in_full_only_pods_are_read() -> None:
    server = Lists(pods=[pod(v1_pod("master", **running())), pod(v1_pod("worker", **running()))])
    assert await why(server, v1_job()) == JobCause(None, up=2)
    assert plurals(server) == ["pods"]
    ready = v2_job(jobsStatus=[{"name": "node", "active": 1, "ready": 1}])
    server = Lists(pods=[pod(v2_pod(0, **running())), pod(v2_pod(1, **running()))])
    assert await why(server, ready) == JobCause(None, is_all_up=True)
    assert plurals(server) == ["pods"]


def well(**status: Any) -> Json:
    """A job that runs in full by its own status."""
    runs = {"type": "Running", "status": "True"}
    return v1_job(conditions=[runs], replicaStatuses={"Master": {"active": 1}, "Worker": {"active": 1}}, **status)


async def test_of_jobs_that_are_well_by_their_status_the_pods_that_run_are_not_sent() -> None:
    full = [pod(v1_pod("master", **running())), pod(v1_pod("worker", **running()))]
    server = Lists(pods=full)
    assert await why(server, well()) == JobCause(None, is_all_up=True)
    assert plurals(server) == ["pods"]
    assert (await why(Lists(pods=None), well())).up is None
    held = Lists(pods=[full[0], pod(v1_pod("worker", **unplaced(NO_GPU)))])
    found = await why(held, well())
    assert found.cause is not None
    assert (found.cause.word, found.up, found.is_all_up) == ("Unschedulable", 1, False)


async def test_every_reader_counts_the_same_ranks_where_a_sidecar_has_ended() -> None:
    """The status of a v1 job counts pods that run, whatever else runs in them."""
    job = well()
    job["metadata"] |= {"resourceVersion": "1"}
    containers = [{"name": "pytorch", "state": {"running": {}}}, {"name": "logs", "state": {"terminated": {"exitCode": 0}}}]
    ended: Json = {"phase": "Running", "containerStatuses": containers}
    full = [pod(v1_pod("master", **running())), pod(v1_pod("worker", **ended))]
    for one in full:
        one["spec"] |= {"containers": [{"name": "pytorch"}, {"name": "logs"}]}
    read = await why(Lists(pods=full), job)
    listed = job_row(kept_job(job), JobReading("1", "Running", read, 2), None).up
    head = open_job(Viewer(Client(Lists()), "ann", PageOptions("prod")), Parameters(("n",), "PyTorchJob", "j"))
    pods = {one["metadata"]["name"]: kept_pod(one) for one in full}
    objects: dict[str, Json] = {"job": {"u-j": job}, "pods": pods, "events": {}}
    (detail,) = head.rows(Observed(objects, {}), 0)["job"]
    assert isinstance(detail, JobDetail)
    assert Row(overview(job), read, None, wanted=2).up == listed == detail.up == up(job, full) == 2
    assert "  Ranks    2 of 2 up" in [*description(job, Evidence(pods=full), {}, NOW)]


@pytest.mark.parametrize(
    "job",
    [
        v1_job(),
        well(rankFailures={"count": 1, "last": []}),
        v1_job(2, conditions=[{"type": "Running", "status": "True"}], replicaStatuses={"Master": {"active": 1}}),
        v1_job(replicaStatuses={"Master": {"active": 1}, "Worker": {"active": 1}}),
        v1_job(
            conditions=[{"type": "Running", "status": "True"}],
            replicaStatuses={"Master": {"active": 1, "succeeded": 1}, "Worker": {"active": 1}},
        ),
        v2_job(jobsStatus=[{"name": "node", "active": 2, "ready": 1}]),
        v2_job(jobsStatus=[{"name": "node", "active": 1, "ready": 1}], rankFailures={"count": 1}),
    ],
    ids=["no status", "failed before", "not all of it", "not Running", "a rank has ended", "not ready", "failed before, v2"],
)
def test_a_job_is_not_well_by_its_status_unless_all_of_it_runs_and_nothing_ever_failed(job: Json) -> None:
    assert not is_well(job)


async def test_events_are_read_only_where_pods_do_not_say_why() -> None:
    server = Lists(pods=[pod(v1_pod("master", **unplaced(NO_GPU)))])
    found = await why(server, v1_job())
    assert found.cause is not None
    assert found.cause.word == "Unschedulable"
    assert plurals(server) == ["pods"]


async def test_a_cause_that_only_events_tell_is_found_in_the_list_of_both_generations() -> None:
    starting = pod(v1_pod("master", **waiting("ContainerCreating")))
    found = await why(Lists(pods=[starting], events=[event("u-j-master-0", "FailedMount", MOUNT)]), v1_job(0))
    assert found.cause is not None
    assert found.cause.word == "MissingConfigMap"
    above, below = jobset()
    for each in (above, below):
        each["metadata"]["namespace"] = "n"
    below["metadata"]["labels"] = {"jobset.sigs.k8s.io/jobset-name": "j"}
    quota = event("u-job", "FailedCreate", "Error creating: exceeded quota: q")
    server = Lists(pods=[pod(v2_pod(0, **running()))], events=[quota], jobsets=[above], jobs=[below])
    found = await why(server, v2_job())
    assert found.cause is not None
    assert found.cause.word == "QuotaExceeded"


FAILED: Json = {"conditions": [{"type": "Failed", "status": "True", "reason": "Failed", "message": "backoff limit"}]}
OUT_OF_MEMORY = {
    "rank": 1,
    "pod": "j-worker-0",
    "podUID": "u-j-worker-0",
    "container": "pytorch",
    "reason": "OOMKilled",
    "exitCode": 137,
    "time": ago(9),
}


@pytest.mark.parametrize("make", [v1_job, v2_job])
async def test_why_a_job_failed_is_read_off_its_record_and_costs_no_request(make: Any) -> None:
    server = Lists()
    found = await why(server, make(rankFailures={"count": 1, "last": [OUT_OF_MEMORY]}, **FAILED))
    assert found.cause is not None
    assert (found.cause.word, found.cause.short) == ("OOMKilled", "rank 1: OOMKilled")
    assert found.cause.sentence == "rank 1: OOMKilled, exit code 137 (SIGKILL)"
    assert server.asked == []


@pytest.mark.parametrize("make", [v1_job, v2_job])
async def test_why_a_job_failed_that_keeps_no_record_is_read_off_its_pods(make: Any) -> None:
    made = v1_pod if make is v1_job else v2_pod
    first = made(index=1, **failed(3))
    earlier = made(index=0, made=900, **failed(4))
    earlier["metadata"]["ownerReferences"] = []
    server = Lists(pods=[pod(first), pod(earlier)])
    found = await why(server, make(2, **FAILED))
    assert found.cause is not None
    assert found.cause.text == "exit code 3"
    assert found.cause.word == "exit code 3"
    assert found.cause.rank == (2 if make is v1_job else 1)
    assert plurals(server) == ["pods"]


async def test_a_job_that_failed_says_so_itself_where_nothing_else_is_left() -> None:
    found = await why(Lists(pods=None), v1_job(**FAILED))
    assert found == JobCause(Cause("Failed", "backoff limit"))
    late = {"type": "Failed", "status": "True", "reason": "PyTorchJobFailed", "message": EXCEEDED.format(name="j")}
    server = Lists()
    assert (await why(server, v1_job(conditions=[late]))).cause == Cause("DeadlineExceeded", late["message"])
    assert server.asked == []


async def test_a_thousand_jobs_cost_as_many_requests_as_one() -> None:
    jobs = []
    for number in range(1000):
        job = v1_job()
        job["metadata"].update(name=f"j{number}", uid=f"u-{number}", namespace=f"n{number % 100}")
        jobs.append(job)
    server = Lists()
    assert len(await job_causes(Client(server), jobs, "", NOW)) == 1000
    assert plurals(server) == ["pods", "events"]


async def test_who_may_not_read_pods_or_events_is_told_what_was_not_looked_at() -> None:
    assert await why(Lists(pods=None), v1_job()) == JobCause(None, ("pods",), up=None)
    starting = pod(v1_pod("master", **waiting("ContainerCreating")))
    assert await why(Lists(pods=[starting], events=None), v1_job(0)) == JobCause(None, ("events",))
    held = pod(v1_pod("master", **unplaced(NO_GPU)))
    assert (await why(Lists(pods=[held], events=None), v1_job(0))).unread == ()
    full = [pod(v1_pod("master", **running())), pod(v1_pod("worker", **running()))]
    assert await why(Lists(pods=full, events=None), v1_job()) == JobCause(None, up=2)


def queued(uid: str = "u-j") -> Json:
    job = v1_job(policy={"suspend": True})
    job["metadata"].update(uid=uid, labels={"kueue.x-k8s.io/queue-name": "team-a"})
    return job


PENDING = workload(condition("QuotaReserved", "False", "Pending", SHORT))


async def test_workloads_are_read_by_the_newest_version_that_kueue_serves() -> None:
    for versions, path in (
        (("kueue.x-k8s.io/v1beta1", "kueue.x-k8s.io/v1beta2"), "/apis/kueue.x-k8s.io/v1beta2/namespaces/n/workloads"),
        (("kueue.x-k8s.io/v1beta1",), "/apis/kueue.x-k8s.io/v1beta1/namespaces/n/workloads"),
    ):
        server = Lists(versions, workloads=[PENDING])
        found = await why(server, queued())
        assert found.cause is not None
        assert found.cause.word == "WaitingForQuota"
        assert server.asked == ["/apis", path]


async def test_a_cluster_without_kueue_and_workloads_that_may_not_be_read_are_told_apart() -> None:
    without = await why(Lists(), queued())
    assert without.cause is not None
    assert without.cause.word == "NoQueue"
    refused = await why(Lists(("kueue.x-k8s.io/v1beta2",), workloads=None), queued())
    assert refused.cause is not None
    assert (refused.cause.word, "could not be listed" in refused.cause.sentence) == ("Queued", True)


async def test_workloads_that_may_not_be_read_leave_the_answer_about_other_jobs_as_it_is() -> None:
    full = [pod(v1_pod("master", **running())), pod(v1_pod("worker", **running()))]
    server = Lists(("kueue.x-k8s.io/v1beta2",), workloads=None, pods=full)
    found = await job_causes(Client(server), [v1_job(), queued("u-queued")], "", NOW)
    assert found["u-j"] == JobCause(None, up=2)


async def test_a_trainjob_whose_jobset_waits_in_the_queue_is_told_in_the_list() -> None:
    job = v2_job()
    job["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "team-a"}
    above, _ = jobset(suspend=True)
    above["metadata"]["namespace"] = "n"
    own = workload(condition("QuotaReserved", "False", "Pending", SHORT), owner="u-jobset")
    found = await why(Lists(("kueue.x-k8s.io/v1beta2",), workloads=[own], jobsets=[above]), job)
    assert found.cause is not None
    assert found.cause.word == "WaitingForQuota"


async def test_what_a_followed_job_says_of_its_queue_names_what_may_not_be_read() -> None:
    job = queued()
    evidence = await completed(Client(Lists(("kueue.x-k8s.io/v1beta2",), workloads=None)), job, Evidence())
    found = cause(job, evidence, NOW)
    assert found is not None
    assert "could not be listed" in found.sentence


def pending(number: int, name: str = "") -> Json:
    return {"metadata": {"name": name or f"other-{number}"}, "positionInLocalQueue": number, "positionInClusterQueue": number + 3}


SERVED = ("kueue.x-k8s.io/v1beta2", "visibility.kueue.x-k8s.io/v1beta2")


async def test_the_place_in_the_queue_is_found_beyond_the_first_page() -> None:
    waiting_ones = [*(pending(number) for number in range(1200)), pending(1200, "pytorchjob-j-12345")]
    server = Lists(SERVED, workloads=[PENDING], pendingworkloads=waiting_ones)
    evidence = await evidence_of(Client(server), queued())
    assert evidence.position == Position(in_queue=1201, in_cluster_queue=1204)
    found = cause(queued(), evidence, NOW)
    assert found is not None
    assert f"queue team-a (number 1201 in it, number 1204 in its ClusterQueue): {SHORT}" in found.sentence


async def test_without_a_place_the_rest_is_told() -> None:
    for server in (
        Lists(SERVED[:1], workloads=[PENDING]),
        Lists(SERVED, workloads=[PENDING], pendingworkloads=None),
        Lists(SERVED, workloads=[PENDING], pendingworkloads=[pending(0)]),
    ):
        evidence = await evidence_of(Client(server), queued())
        assert evidence.position is None
        found = cause(queued(), evidence, NOW)
        assert found is not None
        assert found.sentence == f"it waits in queue team-a: {SHORT}"


class Broken(Lists):
    """Of Workloads it says 500, as an API server does while a kind's conversion webhook is down."""

    async def request(
        self, method: str, path: str, *, params: Mapping[str, str] = {}, headers: Mapping[str, str] = {}, body: bytes = b""
    ) -> Response:
        if path.endswith("/workloads"):
            return answer(500, {"kind": "Status", "code": 500, "message": "conversion webhook failed"})
        return await super().request(method, path, params=params, headers=headers, body=body)


async def test_a_kind_of_others_that_fails_does_not_take_the_list_away() -> None:
    held = pod(v1_pod("master", **unplaced(NO_GPU)))
    server = Broken(("kueue.x-k8s.io/v1beta2",), pods=[held])
    client = Client(server, retry=RetryPolicy(attempts=1))
    found = await job_causes(client, [v1_job(0), queued("u-queued")], "", NOW)
    assert {uid: one.cause.word for uid, one in found.items() if one.cause} == {"u-j": "Unschedulable", "u-queued": "Queued"}


async def test_a_pod_of_an_earlier_job_in_the_same_list_is_not_taken() -> None:
    stale = pod(v1_pod("master", **unplaced(NO_GPU)))
    stale["metadata"]["ownerReferences"] = [{"uid": "u-before"}]
    young = v1_job()
    young["metadata"]["creationTimestamp"] = ago(1)
    assert await why(Lists(pods=[stale]), young) == JobCause(None)
