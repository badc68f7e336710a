"""What becomes of v1 jobs whose processes end, are ended, or are not wanted any more: exact conditions, events and leavings.

The rules and their ids (S9, R6, ...) are those of the recordings in tests/recordings/v1; here real processes live by them.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

import pytest

from e2e.job_life import Life, Story, job, lead
from e2e.running_cluster import Cluster
from player.shape import Json
from shunter.api.resources import PODS, SERVICES

pytestmark = pytest.mark.timeout(300)

STORIES: list[Story] = []


def story(told: Story) -> Story:
    STORIES.append(told)
    return told


@pytest.fixture(scope="module")
def ends(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, BaseException | None]:
    return lead(cluster, STORIES, tmp_path_factory.mktemp("lives"))


def condition(kind: str, type: str, message: str, *, status: str = "True", cause: str = "") -> str:
    return f"{type}={status} {kind}{cause or type}: {message}"


def created(kind: str = "PyTorchJob") -> str:
    return condition(kind, "Created", f"{kind} j is created.")


def ran(kind: str = "PyTorchJob", name: str = "j") -> str:
    return condition(kind, "Running", f"{kind} {name} is running.", status="False")


def runs(kind: str = "PyTorchJob", name: str = "j") -> str:
    return condition(kind, "Running", f"{kind} {name} is running.")


EVICTION = "Pod j-worker-0 is taken away: Eviction API: evicting"
EVICTED = f"EvictionByEvictionAPI: {EVICTION}"
SUCCEEDED = condition("PyTorchJob", "Succeeded", "PyTorchJob j is successfully completed.")


def pytorch(worker: str = "OnFailure", *, workers: int = 1, **run_policy: object) -> Json:
    return job("PyTorchJob", {"Master": (1, "OnFailure"), "Worker": (workers, worker)}, **run_policy)


def pods(*names: str, phase: str = "Running") -> list[str]:
    """These pods and their services."""
    return [*(f"Pod {name} {phase}" for name in names), *(f"Service {name}" for name in names)]


async def running(life: Life, wanted: Json, *names: str) -> None:
    """The job is there and counts these pods as active."""
    await life.begins(wanted)
    await life.runs(*names)
    await life.becomes("Running")
    await life.until(lambda: sum(counts.get("active", 0) for counts in life.shown()["counts"].values()) == len(names))


# What a process's end leads to, by restart policy


@story
async def on_failure_restarts_the_process_in_its_pod(life: Life) -> None:
    await running(life, pytorch("OnFailure"), "j-master-0", "j-worker-0")
    await life.tell("j-worker-0", "exit 1")
    await life.until(lambda: life.restarts("j-worker-0") == 1 and life.is_running("j-worker-0"))
    await life.tell("j-worker-0", "exit 0")
    await life.until(lambda: life.pod("j-worker-0")["status"]["phase"] == "Succeeded")
    await life.tell("j-master-0", "exit 0")
    await life.comes_to_rest(
        conditions=[created(), ran(), SUCCEEDED],
        states=["Created", "Running", "Succeeded"],
        left=pods("j-master-0", "j-worker-0", phase="Succeeded"),
        counts={"Master": {"succeeded": 1}, "Worker": {"succeeded": 1}},
        has_ended=True,
    )
    assert life.incarnations("j-worker-0") == 1


@story
async def always_restarts_a_process_that_ended_well(life: Life) -> None:
    await running(life, pytorch("Always"), "j-master-0", "j-worker-0")
    await life.tell("j-worker-0", "exit 0")
    await life.until(lambda: life.restarts("j-worker-0") == 1 and life.is_running("j-worker-0"))
    await life.comes_to_rest(conditions=[created(), runs()], counts={"Master": {"active": 1}, "Worker": {"active": 1}})


@story
async def never_fails_the_job_and_leaves_its_pods(life: Life) -> None:
    await running(life, pytorch("Never"), "j-master-0", "j-worker-0")
    await life.tell("j-worker-0", "echo no more data; exit 130")
    message = "PyTorchJob j is failed because 1 Worker replica(s) failed."
    await life.comes_to_rest(
        conditions=[created(), ran(), condition("PyTorchJob", "Failed", message)],
        events=["ExitedWithCode: Pod: NS.j-worker-0 exited with code 130", f"PyTorchJobFailed: {message}"],
        left=["Pod j-master-0 Running", "Pod j-worker-0 Failed", "Service j-master-0", "Service j-worker-0"],
        counts={"Master": {"active": 1}, "Worker": {"failed": 1}},
        has_ended=True,
    )
    await life.is_described(message, "pod j-worker-0, container pytorch: Error, exit code 130 (SIGINT)", "| no more data")


@story
async def a_retryable_exit_code_replaces_the_pod(life: Life) -> None:
    await running(life, pytorch("ExitCode"), "j-master-0", "j-worker-0")
    await life.tell("j-worker-0", "exit 130")
    await life.until(lambda: life.incarnations("j-worker-0") == 2)
    await life.runs("j-worker-0")
    await life.until(lambda: life.shown()["counts"]["Worker"] == {"active": 1})
    await life.tell("j-master-0", "exit 0")
    await life.comes_to_rest(
        conditions=[created(), ran(), SUCCEEDED],
        states=["Created", "Running", "Restarting", "Running", "Succeeded"],
        events=[
            "ExitedWithCode: Pod: NS.j-master-0 exited with code 0",
            "ExitedWithCode: Pod: NS.j-worker-0 exited with code 130",
            "PyTorchJobRestarting: PyTorchJob j is restarting because 1 Worker replica(s) failed.",
            "PyTorchJobRestarting: job j is restarting because Worker replica(s) failed.",
            "PyTorchJobSucceeded: PyTorchJob j is successfully completed.",
            "SuccessfulDeletePod: Deleted pod: j-worker-0",
        ],
        left=["Pod j-master-0 Succeeded", "Pod j-worker-0 Running", "Service j-master-0", "Service j-worker-0"],
        counts={"Master": {"succeeded": 1}, "Worker": {"succeeded": 1}},
    )


@story
async def a_permanent_exit_code_fails_the_job(life: Life) -> None:
    await running(life, pytorch("ExitCode"), "j-master-0", "j-worker-0")
    await life.tell("j-worker-0", "exit 1")
    message = 'job "j" is failing because "Worker" replica(s) failed.'
    await life.comes_to_rest(
        conditions=[created(), ran(), condition("PyTorchJob", "Failed", message)],
        events=["ExitedWithCode: Pod: NS.j-worker-0 exited with code 1", f"PyTorchJobFailed: {message}"],
        left=["Pod j-master-0 Running", "Pod j-worker-0 Failed", "Service j-master-0", "Service j-worker-0"],
        has_ended=True,
    )
    await life.is_described(message, "pod j-worker-0, container pytorch: Error, exit code 1")


@story
async def a_failed_worker_fails_an_xgboost_job_that_would_restart_it(life: Life) -> None:
    """X13: where other kinds get a new pod."""
    await running(life, job("XGBoostJob", {"Master": (1, "OnFailure"), "Worker": (1, "OnFailure")}), "j-master-0", "j-worker-0")
    await life.evict("j-worker-0")
    message = "XGBoostJob j is failed because 1 Worker replica(s) failed."
    await life.comes_to_rest(
        conditions=[created("XGBoostJob"), ran("XGBoostJob"), condition("XGBoostJob", "Failed", message)],
        events=[EVICTED, f"XGBoostJobFailed: {message}"],
        left=["Pod j-master-0 Running", "Service j-master-0", "Service j-worker-0"],
        has_ended=True,
    )
    await life.is_described(message, EVICTION)


@story
async def a_tensorflow_job_is_over_with_its_first_worker(life: Life) -> None:
    """Parameter servers, which never end, and the other worker do not count."""
    wanted = job("TFJob", {"PS": (1, "Never"), "Worker": (2, "ExitCode")}, cleanPodPolicy="Running")
    await running(life, wanted, "j-ps-0", "j-worker-0", "j-worker-1")
    await life.tell("j-worker-1", "exit 137")
    await life.until(lambda: life.incarnations("j-worker-1") == 2)
    await life.runs("j-worker-1")
    await life.until(lambda: life.shown()["counts"]["Worker"] == {"active": 2})
    await life.tell("j-worker-0", "exit 0")
    await life.comes_to_rest(
        conditions=[
            created("TFJob"),
            ran("TFJob", f"{life.namespace}/j"),
            condition("TFJob", "Succeeded", f"TFJob {life.namespace}/j successfully completed."),
        ],
        states=["Created", "Running", "Restarting", "Running", "Succeeded"],
        events=[
            "ExitedWithCode: Pod: NS.j-worker-0 exited with code 0",
            "ExitedWithCode: Pod: NS.j-worker-1 exited with code 137",
            "SuccessfulDeletePod: Deleted pod: j-ps-0",
            "SuccessfulDeletePod: Deleted pod: j-worker-1",
            "SuccessfulDeleteService: Deleted service: j-ps-0",
            "SuccessfulDeleteService: Deleted service: j-worker-1",
            "TFJobRestarting: job j is restarting because Worker replica(s) failed.",
            "TFJobSucceeded: TFJob NS/j successfully completed.",
        ],
        left=["Pod j-worker-0 Succeeded", "Service j-worker-0"],
        counts={"PS": {"succeeded": 1}, "Worker": {"succeeded": 2}},
    )


@story
async def a_tensorflow_job_is_over_with_its_chief(life: Life) -> None:
    wanted = job("TFJob", {"Chief": (1, "Never"), "PS": (1, "Never"), "Worker": (1, "Never")}, cleanPodPolicy="All")
    await running(life, wanted, "j-chief-0", "j-ps-0", "j-worker-0")
    await life.tell("j-chief-0", "exit 0")
    succeeded = condition("TFJob", "Succeeded", f"TFJob {life.namespace}/j successfully completed.")
    await life.comes_to_rest(
        conditions=[created("TFJob"), ran("TFJob", f"{life.namespace}/j"), succeeded],
        left=[],
        counts={"Chief": {"succeeded": 1}, "PS": {"succeeded": 1}, "Worker": {"succeeded": 1}},
    )


@story
async def a_failed_worker_fails_a_tensorflow_job_before_its_chief_ends(life: Life) -> None:
    await running(life, job("TFJob", {"Chief": (1, "Never"), "Worker": (1, "Never")}), "j-chief-0", "j-worker-0")
    await life.tell("j-worker-0", "exit 139")
    message = f"TFJob {life.namespace}/j has failed because 1 Worker replica(s) failed."
    await life.comes_to_rest(
        conditions=[created("TFJob"), ran("TFJob", f"{life.namespace}/j"), condition("TFJob", "Failed", message)],
        events=[
            "ExitedWithCode: Pod: NS.j-worker-0 exited with code 139",
            f"TFJobFailed: {message}".replace(life.namespace, "NS"),
        ],
    )
    await life.is_described(message, "exit code 139 (segmentation fault)")


@story
async def an_mpi_job_is_over_with_its_launcher(life: Life) -> None:
    wanted = job("MPIJob", {"Launcher": (1, "Never"), "Worker": (2, "Never")}, cleanPodPolicy="Running")
    await running(life, wanted, "j-launcher", "j-worker-0", "j-worker-1")
    await life.tell("j-launcher", "exit 0")
    await life.comes_to_rest(
        conditions=[
            created("MPIJob"),
            ran("MPIJob"),
            condition("MPIJob", "Succeeded", "MPIJob j is successfully completed."),
        ],
        left=["Pod j-launcher Succeeded", "ConfigMap j-config", "ServiceAccount j-launcher", "Role j-launcher"],
        has_ended=True,
    )


@story
async def a_failed_launcher_fails_an_mpi_job(life: Life) -> None:
    wanted = job("MPIJob", {"Launcher": (1, "Never"), "Worker": (1, "Never")}, cleanPodPolicy="All")
    await running(life, wanted, "j-launcher", "j-worker-0")
    await life.tell("j-launcher", "exit 3")
    message = "MPIJob j is failed because 1 Launcher replica(s) failed."
    await life.comes_to_rest(
        conditions=[created("MPIJob"), ran("MPIJob"), condition("MPIJob", "Failed", message, cause="MPIJobFailed")],
        left=["ConfigMap j-config", "ServiceAccount j-launcher", "Role j-launcher"],
        has_ended=True,
    )
    await life.is_described(message)


@story
async def a_launcher_is_replaced_by_its_exit_code(life: Life) -> None:
    await running(life, job("MPIJob", {"Launcher": (1, "ExitCode"), "Worker": (1, "Never")}), "j-launcher", "j-worker-0")
    await life.tell("j-launcher", "exit 143")
    await life.until(lambda: life.incarnations("j-launcher") == 2)
    await life.runs("j-launcher")
    await life.comes_to_rest(
        conditions=[created("MPIJob"), runs("MPIJob")],
        states=["Created", "Running", "Restarting", "Running"],
        counts={"Launcher": {"active": 1}, "Worker": {"active": 1}},
    )


# Limits


@story
async def restarts_beyond_the_limit_fail_the_job(life: Life) -> None:
    await running(life, pytorch(backoffLimit=1), "j-master-0", "j-worker-0")
    await life.tell("j-worker-0", "echo out of luck; exit 3")
    message = "Job j has failed because it has reached the specified backoff limit"
    await life.comes_to_rest(
        conditions=[created(), ran(), condition("PyTorchJob", "Failed", message)],
        events=[f"PyTorchJobFailed: {message}"],
        left=pods("j-master-0", "j-worker-0"),
        has_ended=True,
    )
    await life.is_described(
        message, "backoffLimit 1", "pod j-worker-0, container pytorch: Error, exit code 3", "after 1 restart", "| out of luck"
    )


@story
async def a_job_beyond_its_deadline_fails(life: Life) -> None:
    """The deadline is set, and reached, while it runs."""
    await running(life, job("JAXJob", {"Worker": (2, "OnFailure")}, cleanPodPolicy="Running"), "j-worker-0", "j-worker-1")
    deadline = int((datetime.now(UTC) - datetime.fromisoformat(life.status["startTime"])).total_seconds()) + 2
    await life.patch({"runPolicy": {"activeDeadlineSeconds": deadline}})
    message = "Job j has failed because it was active longer than specified deadline"
    await life.comes_to_rest(
        conditions=[created("JAXJob"), ran("JAXJob", f"{life.namespace}/j"), condition("JAXJob", "Failed", message)],
        events=[
            f"JAXJobFailed: {message}",
            "SuccessfulDeletePod: Deleted pod: j-worker-0",
            "SuccessfulDeletePod: Deleted pod: j-worker-1",
            "SuccessfulDeleteService: Deleted service: j-worker-0",
            "SuccessfulDeleteService: Deleted service: j-worker-1",
        ],
        left=[],
        has_ended=True,
    )
    await life.is_described(message, f"Limits   activeDeadlineSeconds {deadline}")


@story
async def a_job_goes_with_all_it_has_when_its_time_is_over(life: Life) -> None:
    await running(life, job("PaddleJob", {"Worker": (2, "Never")}, ttlSecondsAfterFinished=2), "j-worker-0", "j-worker-1")
    await life.tell("j-worker-0", "exit 0")
    await life.tell("j-worker-1", "exit 0")
    await life.until(lambda: life.is_gone)
    await life.comes_to_rest(
        states=["Created", "Running", "Succeeded"],
        events=[
            "ExitedWithCode: Pod: NS.j-worker-0 exited with code 0",
            "ExitedWithCode: Pod: NS.j-worker-1 exited with code 0",
            "PaddleJobSucceeded: PaddleJob NS/j successfully completed.",
            "SuccessfulDeletePod: Deleted job: j",
        ],
        left=[],
    )


@story
async def a_failed_job_goes_as_well(life: Life) -> None:
    await running(life, job("TFJob", {"Worker": (1, "ExitCode")}, ttlSecondsAfterFinished=1), "j-worker-0")
    await life.tell("j-worker-0", "exit 1")
    await life.until(lambda: life.is_gone)
    await life.comes_to_rest(
        states=["Created", "Running", "Failed"],
        events=[
            "ExitedWithCode: Pod: NS.j-worker-0 exited with code 1",
            "SuccessfulDeleteJob: Deleted job: j",
            "TFJobFailed: TFJob NS/j has failed because 1 Worker replica(s) failed.",
            'TFJobFailed: job "j" is failing because "Worker" replica(s) failed.',
        ],
        left=[],
    )


# Leavings: the Master is done while the Workers idle


async def _master_is_done(life: Life, policy: str, left: list[str], events: list[str]) -> None:
    await running(life, pytorch(cleanPodPolicy=policy), "j-master-0", "j-worker-0")
    await life.tell("j-master-0", "exit 0")
    ended = [
        "ExitedWithCode: Pod: NS.j-master-0 exited with code 0",
        "PyTorchJobSucceeded: PyTorchJob j is successfully completed.",
    ]
    await life.comes_to_rest(
        conditions=[created(), ran(), SUCCEEDED],
        events=[*ended, *events],
        left=left,
        counts={"Master": {"succeeded": 1}, "Worker": {"succeeded": 1}},
        has_ended=True,
    )


@story
async def a_clean_up_of_none_lets_idle_workers_run(life: Life) -> None:
    left = ["Pod j-master-0 Succeeded", "Pod j-worker-0 Running", "Service j-master-0", "Service j-worker-0"]
    await _master_is_done(life, "None", left, [])


@story
async def a_clean_up_of_running_pods_ends_idle_workers(life: Life) -> None:
    gone = ["SuccessfulDeletePod: Deleted pod: j-worker-0", "SuccessfulDeleteService: Deleted service: j-worker-0"]
    await _master_is_done(life, "Running", ["Pod j-master-0 Succeeded", "Service j-master-0"], gone)


@story
async def a_clean_up_of_all_leaves_nothing(life: Life) -> None:
    names = ("j-master-0", "j-worker-0")
    gone = [f"SuccessfulDelete{what}: Deleted {what.lower()}: {name}" for what in ("Pod", "Service") for name in names]
    await _master_is_done(life, "All", [], gone)


# What people do to jobs


@story
async def a_suspended_job_has_no_pods_and_a_resumed_one_starts_anew(life: Life) -> None:
    names = ("j-master-0", "j-worker-0")
    await running(life, pytorch(), *names)
    start = life.status["startTime"]
    await life.patch({"runPolicy": {"suspend": True}})
    suspended = "PyTorchJob j is suspended."
    await life.comes_to_rest(
        conditions=[
            created(),
            condition("PyTorchJob", "Running", suspended, status="False", cause="Suspended"),
            condition("PyTorchJob", "Suspended", suspended),
        ],
        left=[],
        counts={"Master": {}, "Worker": {}},
        has_ended=False,
    )
    assert life.status["startTime"] == start
    await life.is_described("State    Suspended (PyTorchJobSuspended)")
    await life.patch({"runPolicy": {"suspend": False}})
    await life.runs("j-master-0", "j-worker-0")
    await life.comes_to_rest(
        conditions=[
            created(),
            condition("PyTorchJob", "Suspended", "PyTorchJob j is resumed.", status="False", cause="Resumed"),
            runs(),
        ],
        states=["Created", "Running", "Suspended", "Running"],
        events=[
            "PyTorchJobResumed: PyTorchJob j is resumed.",
            "PyTorchJobSuspended: PyTorchJob j is suspended.",
            *(f"SuccessfulDeletePod: Deleted pod: {name}" for name in names),
            *(f"SuccessfulDeleteService: Deleted service: {name}" for name in names),
        ],
        left=pods("j-master-0", "j-worker-0"),
        counts={"Master": {"active": 1}, "Worker": {"active": 1}},
    )
    assert life.status["startTime"] > start


@story
async def a_job_that_is_created_suspended_waits_for_its_user(life: Life) -> None:
    await life.begins(job("XGBoostJob", {"Master": (1, "Never"), "Worker": (1, "Never")}, suspend=True))
    suspended = condition("XGBoostJob", "Suspended", "XGBoostJob j is suspended.")
    await life.comes_to_rest(conditions=[created("XGBoostJob"), suspended], left=[], counts={})
    assert "startTime" not in life.status
    await life.patch({"runPolicy": {"suspend": False}})
    await life.runs("j-master-0", "j-worker-0")
    await life.comes_to_rest(states=["Suspended", "Running"], left=pods("j-master-0", "j-worker-0"))


@story
async def a_suspended_mpi_job_keeps_what_its_launcher_needs(life: Life) -> None:
    objects = ["ConfigMap j-config", "ServiceAccount j-launcher", "Role j-launcher"]
    await running(life, job("MPIJob", {"Launcher": (1, "Never"), "Worker": (1, "Never")}), "j-launcher", "j-worker-0")
    await life.patch({"runPolicy": {"suspend": True}})
    await life.comes_to_rest(states=["Created", "Running", "Suspended"], left=objects)
    await life.patch({"runPolicy": {"suspend": False}})
    await life.runs("j-launcher", "j-worker-0")
    await life.comes_to_rest(
        states=["Created", "Running", "Suspended", "Running"],
        left=["Pod j-launcher Running", "Pod j-worker-0 Running", *objects],
    )


@story
async def a_job_of_the_same_name_may_follow_at_once(life: Life) -> None:
    await running(life, pytorch(), "j-master-0", "j-worker-0")
    first = life.uid
    await life.client.delete(life.resource, "j", life.namespace, uid=first)
    await life.begins(pytorch())
    await life.until(lambda: life.is_owner("j-master-0", "j-worker-0"))
    await life.runs("j-master-0", "j-worker-0")
    await life.comes_to_rest(
        conditions=[created(), runs()],
        left=pods("j-master-0", "j-worker-0"),
        counts={"Master": {"active": 1}, "Worker": {"active": 1}},
    )
    assert life.uid != first
    assert life.incarnations("j-worker-0") == 2


@story
async def a_deleted_job_leaves_nothing(life: Life) -> None:
    await running(life, job("MPIJob", {"Launcher": (1, "Never"), "Worker": (1, "Never")}), "j-launcher", "j-worker-0")
    await life.client.delete(life.resource, "j", life.namespace)
    await life.comes_to_rest(left=[])
    assert life.is_gone


@story
async def a_deleted_pod_and_a_deleted_service_come_back(life: Life) -> None:
    await running(life, pytorch(), "j-master-0", "j-worker-0")
    service = life.history.get(SERVICES, life.namespace, "j-worker-0")
    await life.client.delete(SERVICES, "j-worker-0", life.namespace)
    await life.client.delete(PODS, "j-worker-0", life.namespace)
    await life.until(lambda: life.incarnations("j-worker-0") == 2)
    await life.runs("j-worker-0")
    await life.comes_to_rest(
        conditions=[created(), runs()],
        states=["Created", "Running", "Restarting", "Running"],
        events=["PyTorchJobRestarting: PyTorchJob j is restarting because 1 Worker replica(s) failed."],
        left=pods("j-master-0", "j-worker-0"),
    )
    assert life.history.get(SERVICES, life.namespace, "j-worker-0")["metadata"]["uid"] != service["metadata"]["uid"]


@story
async def a_pod_that_is_forced_away_is_replaced(life: Life) -> None:
    """As an administrator does with those of a machine that is lost."""
    await running(life, pytorch("ExitCode"), "j-master-0", "j-worker-0")
    await life.client.delete(PODS, "j-worker-0", life.namespace, grace_period_seconds=0)
    await life.until(lambda: life.incarnations("j-worker-0") == 2)
    await life.runs("j-worker-0")
    await life.comes_to_rest(conditions=[created(), runs()], left=pods("j-master-0", "j-worker-0"))


@story
async def a_succeeded_pod_that_is_deleted_runs_again(life: Life) -> None:
    await running(life, job("JAXJob", {"Worker": (2, "OnFailure")}), "j-worker-0", "j-worker-1")
    await life.tell("j-worker-1", "exit 0")
    await life.until(lambda: life.shown()["counts"] == {"Worker": {"active": 1, "succeeded": 1}})
    await life.client.delete(PODS, "j-worker-1", life.namespace)
    await life.until(lambda: life.incarnations("j-worker-1") == 2)
    await life.runs("j-worker-1")
    await life.comes_to_rest(counts={"Worker": {"active": 2}}, states=["Created", "Running"])


@story
async def workers_come_and_go_as_the_job_is_scaled(life: Life) -> None:
    """The scale subresource asks no webhook: the job goes on without any worker."""
    await running(life, pytorch(), "j-master-0", "j-worker-0")
    await life.scale(2)
    await life.runs("j-worker-1")
    await life.comes_to_rest(
        left=pods("j-master-0", "j-worker-0", "j-worker-1"), counts={"Master": {"active": 1}, "Worker": {"active": 2}}
    )
    await life.scale(0)
    await life.comes_to_rest(
        conditions=[created(), runs()],
        states=["Created", "Running"],
        left=pods("j-master-0"),
        counts={"Master": {"active": 1}, "Worker": {}},
    )


@story
async def a_job_of_workers_alone_that_is_scaled_to_zero_is_over(life: Life) -> None:
    """S9: none is left that has not succeeded."""
    await running(life, job("JAXJob", {"Worker": (1, "OnFailure")}), "j-worker-0")
    await life.scale(0)
    succeeded = condition("JAXJob", "Succeeded", f"JAXJob {life.namespace}/j successfully completed.")
    await life.comes_to_rest(
        conditions=[created("JAXJob"), ran("JAXJob", f"{life.namespace}/j"), succeeded], left=[], has_ended=True
    )


# Eviction


@story
async def an_evicted_pod_is_replaced(life: Life) -> None:
    await running(life, pytorch(), "j-master-0", "j-worker-0")
    await life.evict("j-worker-0")
    await life.until(lambda: life.incarnations("j-worker-0") == 2)
    await life.runs("j-worker-0")
    await life.comes_to_rest(
        conditions=[created(), runs()],
        states=["Created", "Running", "Restarting", "Running"],
        events=[EVICTED, "PyTorchJobRestarting: PyTorchJob j is restarting because 1 Worker replica(s) failed."],
        left=pods("j-master-0", "j-worker-0"),
    )


@story
async def an_evicted_pod_that_never_restarts_fails_the_job(life: Life) -> None:
    await running(life, pytorch("Never"), "j-master-0", "j-worker-0")
    await life.evict("j-worker-0")
    message = "PyTorchJob j is failed because 1 Worker replica(s) failed."
    await life.comes_to_rest(
        conditions=[created(), ran(), condition("PyTorchJob", "Failed", message)],
        events=[EVICTED, f"PyTorchJobFailed: {message}"],
        left=["Pod j-master-0 Running", "Service j-master-0", "Service j-worker-0"],
        counts={"Master": {"active": 1}, "Worker": {"failed": 1}},
    )
    await life.is_described(message, EVICTION, "j-worker-0: Stopping container pytorch")


@pytest.mark.parametrize("told", STORIES, ids=lambda told: told.__name__)
def test_a_life_in_which(told: Story, ends: Mapping[str, BaseException | None]) -> None:
    if end := ends[told.__name__]:
        raise end
