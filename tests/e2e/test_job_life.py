"""What becomes of v1 jobs whose processes end, or whose time is over: exact conditions, events and leavings.

The rules are those of the recordings in tests/recordings/v1; here real processes live by them.
"""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from e2e.job_life import (
    SUCCEEDED,
    Ends,
    Life,
    Stories,
    condition,
    created,
    job,
    pods,
    pytorch,
    ran,
    running,
    runs,
)

pytestmark = pytest.mark.timeout(300)

STORIES = Stories()
story = STORIES.add


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
        events=[
            "ExitedWithCode: Pod: NS.j-worker-0 exited with code 130",
            f"PyTorchJobFailed: {message}",
            "RankFailed: rank 1, pod j-worker-0, container pytorch: Error, exit code 130 (SIGINT). Last log lines:\nno more data",
        ],
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
            "RankFailed: rank 1, pod j-worker-0, container pytorch: Error, exit code 130 (SIGINT)",
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
        events=[
            "ExitedWithCode: Pod: NS.j-worker-0 exited with code 1",
            f"PyTorchJobFailed: {message}",
            "RankFailed: rank 1, pod j-worker-0, container pytorch: Error, exit code 1",
        ],
        left=["Pod j-master-0 Running", "Pod j-worker-0 Failed", "Service j-master-0", "Service j-worker-0"],
        has_ended=True,
    )
    await life.is_described(message, "pod j-worker-0, container pytorch: Error, exit code 1")


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
            "RankFailed: rank 1, pod j-worker-1, container tensorflow: Error, exit code 137 (SIGKILL)",
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
            "RankFailed: rank 1, pod j-worker-0, container tensorflow: Error, exit code 139 (segmentation fault)",
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
    await life.is_described(message, "Pod: NS.j-launcher exited with code 3".replace("NS", life.namespace))


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


@story
async def a_failed_mpi_worker_fails_the_job(life: Life) -> None:
    await running(life, job("MPIJob", {"Launcher": (1, "Never"), "Worker": (1, "Never")}), "j-launcher", "j-worker-0")
    await life.tell("j-worker-0", "exit 134")
    message = "MPIJob j is failed because 1 Worker replica(s) failed."
    await life.comes_to_rest(
        conditions=[created("MPIJob"), ran("MPIJob"), condition("MPIJob", "Failed", message, cause="MPIJobFailed")],
        counts={"Launcher": {"active": 1}, "Worker": {"failed": 1}},
        has_ended=True,
    )
    await life.is_described(message, "pod j-worker-0, container mpi: Error, exit code 134 (SIGABRT)")


@story
async def an_xgboost_worker_is_replaced_by_its_exit_code(life: Life) -> None:
    await running(life, job("XGBoostJob", {"Master": (1, "ExitCode"), "Worker": (1, "ExitCode")}), "j-master-0", "j-worker-0")
    await life.tell("j-worker-0", "exit 137")
    await life.until(lambda: life.incarnations("j-worker-0") == 2)
    await life.runs("j-worker-0")
    await life.until(lambda: life.shown()["counts"]["Worker"] == {"active": 1})
    await life.tell("j-master-0", "exit 0")
    await life.comes_to_rest(
        conditions=[
            created("XGBoostJob"),
            ran("XGBoostJob"),
            condition("XGBoostJob", "Succeeded", "XGBoostJob j is successfully completed."),
        ],
        states=["Created", "Running", "Restarting", "Running", "Succeeded"],
        left=["Pod j-master-0 Succeeded", "Pod j-worker-0 Running", "Service j-master-0", "Service j-worker-0"],
    )


@story
async def a_paddle_worker_that_never_restarts_fails_the_job(life: Life) -> None:
    wanted = job("PaddleJob", {"Master": (1, "Never"), "Worker": (2, "Never")}, cleanPodPolicy="Running")
    await running(life, wanted, "j-master-0", "j-worker-0", "j-worker-1")
    await life.tell("j-worker-1", "exit 2")
    message = "PaddleJob j is failed because 1 Worker replica(s) failed."
    await life.comes_to_rest(
        conditions=[created("PaddleJob"), ran("PaddleJob"), condition("PaddleJob", "Failed", message)],
        events=[
            "ExitedWithCode: Pod: NS.j-worker-1 exited with code 2",
            f"PaddleJobFailed: {message}",
            "RankFailed: rank 2, pod j-worker-1, container paddle: Error, exit code 2",
            *(f"SuccessfulDeletePod: Deleted pod: {name}" for name in ("j-master-0", "j-worker-0")),
            *(f"SuccessfulDeleteService: Deleted service: {name}" for name in ("j-master-0", "j-worker-0")),
        ],
        left=["Pod j-worker-1 Failed", "Service j-worker-1"],
        has_ended=True,
    )
    await life.is_described(message, "pod j-worker-1, container paddle: Error, exit code 2")


# Limits


@story
async def restarts_beyond_the_limit_fail_the_job(life: Life) -> None:
    await running(life, pytorch(backoffLimit=1), "j-master-0", "j-worker-0")
    await life.tell("j-worker-0", "echo out of luck; exit 3")
    message = "Job j has failed because it has reached the specified backoff limit"
    await life.comes_to_rest(
        conditions=[created(), ran(), condition("PyTorchJob", "Failed", message)],
        events=[
            "ExitedWithCode: Pod: NS.j-worker-0 exited with code 3",
            f"PyTorchJobFailed: {message}",
            "RankFailed: rank 1, pod j-worker-0, container pytorch: Error, exit code 3. Last log lines:\nout of luck",
        ],
        left=pods("j-master-0", "j-worker-0"),
        has_ended=True,
    )
    await life.is_described(
        message, "backoffLimit 1", "pod j-worker-0, container pytorch: Error, exit code 3", "after 1 restart", "| out of luck"
    )


@story
async def a_job_that_may_not_restart_fails_with_the_first_restart(life: Life) -> None:
    wanted = job("JAXJob", {"Worker": (2, "OnFailure")}, backoffLimit=0, cleanPodPolicy="All")
    await running(life, wanted, "j-worker-0", "j-worker-1")
    await life.tell("j-worker-1", "exit 1")
    message = "Job j has failed because it has reached the specified backoff limit"
    await life.comes_to_rest(
        conditions=[created("JAXJob"), ran("JAXJob", f"{life.namespace}/j"), condition("JAXJob", "Failed", message)],
        left=[],
        has_ended=True,
    )
    await life.is_described(message, "Limits   backoffLimit 0", f"Pod: {life.namespace}.j-worker-1 exited with code 1")


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
            "RankFailed: rank 0, pod j-worker-0, container tensorflow: Error, exit code 1",
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


@pytest.mark.parametrize("told", STORIES.names)
def test_a_life_in_which(told: str, ends: Ends) -> None:
    ends.check(told)
