"""What failed of a job, and in whose words. Pure: objects in, lines out."""

from typing import Any

import pytest

from failed_job import NOW, PODS, failed_pod, job
from job_evidence import v1_job, v1_pod, v2_job
from shunter.api.meta import Json
from shunter.jobs.description import description
from shunter.jobs.failures import failure_cause, failure_lines
from shunter.operator.causes import Evidence


def test_the_last_words_are_those_of_the_pod_that_failed_first() -> None:
    lines = failure_lines(job(), PODS, {"worker-0": ["a", "", "the reason"], "master-0": ["a victim"]})
    assert lines == [
        "pod j-worker-0, container pytorch: Error, exit code 1",
        "| a",
        "| the reason",
        "pod j-master-0, container pytorch: Error, exit code 1",
    ]


def test_of_pods_that_failed_alike_one_tells_its_last_words_that_has_some() -> None:
    near = [PODS[1], failed_pod("j-master-0", "master", "2026-01-01T00:00:02Z")]
    gone = {"worker-0": ['(no log: pods "j-worker-0" not found)']}
    assert (
        failure_cause(job(), near, [], {**gone, "master-0": ["ValueError: x"]}).sentence == "master-0: exit code 1: ValueError: x"
    )
    lines = failure_lines(job(), near, {**gone, "master-0": ["ValueError: x"]})
    assert lines[1] == "| ValueError: x"
    assert sum(line.startswith("pod ") for line in lines) == len(near), "each fault is told once"
    silent = {"worker-0": [], "master-0": ["error: --global-batch 7 must be a multiple of 2 ranks."]}
    assert failure_cause(job(), near, [], silent).sentence == f"master-0: exit code 1: {silent['master-0'][0]}", (
        "often rank 0 alone says it"
    )
    lost = {**gone, "master-0": LOST}
    assert failure_cause(job(), near, [], lost).sentence == "worker-0: exit code 1", "the end of a peer is no cause"


def test_what_a_missing_package_needs_stands_below_the_last_words() -> None:
    lines = failure_lines(job(), PODS[:1], {"master-0": ["ModuleNotFoundError: No module named 'mlx.core'"]})
    assert lines[1] == "| ModuleNotFoundError: No module named 'mlx.core'"
    assert lines[2].startswith("mlx needs the Python package mlx in its build for the node's hardware")


TRACEBACK = ["Traceback (most recent call last):", '  File "train.py", line 3, in <module>', "ValueError: no such layer", "bye"]
LOST = ["Traceback (most recent call last):", "  x", "RuntimeError: [..] Connection closed by peer [10.0.0.1]:4711"]


def test_the_headline_of_a_failure_is_the_exception_of_the_rank_that_failed() -> None:
    line = failure_cause(job(), PODS, [], {"worker-0": TRACEBACK, "master-0": LOST}).sentence
    assert line == "worker-0: exit code 1: ValueError: no such layer"
    limit = "Job j has failed because it has reached the specified backoff limit"
    text = "\n".join(description(job(), Evidence(pods=PODS), {"worker-0": TRACEBACK}, NOW))
    assert "State    Failed (PyTorchJobFailed)\n  Cause    worker-0: exit code 1: ValueError: no such layer\n" in text
    assert limit not in text.split("Cause")[0]


def test_a_rank_that_lost_its_peer_is_not_the_headline_though_it_ended_first() -> None:
    """The times of containers are whole seconds, and a peer's loss is seen at once."""
    line = failure_cause(job(), PODS, [], {"worker-0": LOST, "master-0": TRACEBACK}).sentence
    assert line == "master-0: exit code 1: ValueError: no such layer"
    assert failure_lines(job(), PODS, {"worker-0": LOST, "master-0": TRACEBACK})[0].startswith("pod j-master-0")


def test_when_all_lost_their_peers_the_first_is_the_headline() -> None:
    assert failure_cause(job(), PODS, [], {"worker-0": LOST, "master-0": LOST}).sentence.startswith(
        "worker-0: exit code 1: RuntimeError"
    )


def test_a_failure_long_after_the_first_is_not_its_cause() -> None:
    late = failed_pod("j-master-0", "master", "2026-01-01T00:05:00Z")
    assert failure_cause(job(), [late, PODS[1]], [], {"worker-0": LOST, "master-0": TRACEBACK}).sentence.startswith("worker-0")


def test_what_torchrun_says_of_its_child_is_not_the_headline() -> None:
    summary = [*TRACEBACK, "torch.distributed.elastic.multiprocessing.errors.ChildFailedError:", "  error_file: <N/A>", "====="]
    assert (
        failure_cause(job(), PODS[1:], [], {"worker-0": summary}).sentence == "worker-0: exit code 1: ValueError: no such layer"
    )


@pytest.mark.parametrize("words", ["error: --global-batch 7 must be a multiple of 2 ranks.", "train.py: error: no option --lrr"])
def test_what_a_program_says_that_refuses_its_input_is_the_headline(words: str) -> None:
    launcher = "E1126 03:41:13.634000 3 torch/distributed/elastic/multiprocessing/api.py:1002] failed (exitcode: 2) local_rank: 0"
    line = failure_cause(job(), PODS[1:], [], {"worker-0": ["reading", words, launcher]}).sentence
    assert line == f"worker-0: exit code 1: {words}"


def test_a_log_that_cannot_be_read_is_not_the_headline() -> None:
    assert (
        failure_cause(job(), PODS[1:], [], {"worker-0": ["(no log: pods/log is forbidden)"]}).sentence == "worker-0: exit code 1"
    )


def test_when_the_pods_are_gone_the_first_event_of_how_one_ended_is_the_headline() -> None:
    def exited(name: str, at: str) -> dict[str, Any]:
        about = {"involvedObject": {"uid": "u"}, "metadata": {}}
        return {"reason": "ExitedWithCode", "message": f"Pod: n.{name} exited with code 1", "lastTimestamp": at, **about}

    events = [exited("j-master-0", "2026-01-01T00:00:09Z"), exited("j-worker-0", "2026-01-01T00:00:01Z")]
    assert failure_cause(job(), [], events, {}).sentence == "Pod: n.j-worker-0 exited with code 1"


def test_the_exception_that_the_operator_kept_of_a_pod_that_is_gone_is_the_headline() -> None:
    about = {"lastTimestamp": "2026-01-01T00:00:09Z", "involvedObject": {"uid": "u"}, "metadata": {}}
    told = "pod j-worker-0, container pytorch: Error, exit code 1. Last log lines:\nhello\nValueError: no data\nbye"
    exited = {"reason": "ExitedWithCode", "message": "Pod: n.j-worker-0 exited with code 1", **about}
    line = failure_cause(job(), [], [exited, {"reason": "RankFailed", "message": told, **about}], {}).sentence
    assert line == "pod j-worker-0, container pytorch: Error, exit code 1: ValueError: no data"


def test_a_job_that_missed_its_deadline_is_not_headed_by_how_its_pods_were_ended() -> None:
    late = job()
    message = "Job j has failed because it was active longer than specified deadline"
    late["status"]["conditions"][-1]["message"] = message
    assert failure_cause(late, PODS, [], {"worker-0": TRACEBACK}).sentence == message
    text = "\n".join(description(late, Evidence(pods=PODS), {}, NOW))
    assert text.split("Conditions")[0].count(message) == 1


def test_a_job_with_a_deadline_in_its_name_has_not_missed_one() -> None:
    message = "PyTorchJob deadline-test is failed because 1 Worker replica(s) failed."
    failed = {"type": "Failed", "status": "True", "reason": "PyTorchJobFailed", "message": message}
    named = v1_job(conditions=[failed])
    named["metadata"]["name"] = "deadline-test"
    killed = {"name": "pytorch", "state": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}}
    pod = v1_pod("worker", 0, phase="Failed", containerStatuses=[killed])
    assert failure_cause(named, [pod], [], {}).word == "OOMKilled"
    missed = {
        "type": "Failed",
        "status": "True",
        "reason": "DeadlineExceeded",
        "message": "TrainJob exceeded its active deadline",
    }
    assert failure_cause(v2_job(conditions=[missed]), [], [], {}).word == "DeadlineExceeded"


def test_a_rank_that_was_restarted_long_ago_and_runs_is_not_the_headline() -> None:
    again = failed_pod("j-worker-0", "worker", "2025-12-31T00:00:00Z")
    (status,) = again["status"]["containerStatuses"]
    status |= {"state": {"running": {"startedAt": "2025-12-31T00:01:00Z"}}, "lastState": status["state"], "restartCount": 1}
    again["status"]["phase"] = "Running"
    assert failure_cause(job(), [again, PODS[0]], [], {"master-0": TRACEBACK}).sentence.startswith(
        "master-0: exit code 1: ValueError"
    )


def test_the_last_words_are_not_the_addresses_of_a_native_stack() -> None:
    native = ["Stack trace:", *(f"  [bt] ({depth}) /lib/libxgboost.so(+0x1cdc86) [0x7fcc74530c86]" for depth in range(20))]
    lines = failure_lines(job(), PODS[1:], {"worker-0": ["Failed to bind socket. system error:Address already in use", *native]})
    assert lines[1:] == ["| Failed to bind socket. system error:Address already in use"]


TORCHRUN_TRACEBACK = [
    "Traceback (most recent call last):",
    "torch.distributed.elastic.multiprocessing.api.SignalException: Process 1 got signal: 15",
]
DISRUPTED: Json = {"conditions": [{"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI"}]}


def pod_that_ended(*, code: int = 1, deleted: bool = False, **status: Any) -> dict[str, Any]:
    pod = failed_pod("j-worker-0", "worker", "2026-01-01T00:00:01Z")
    pod["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] = code
    pod["status"] |= status
    pod["metadata"] |= {"deletionTimestamp": "2026-01-01T00:02:00Z"} if deleted else {}
    return pod


@pytest.mark.parametrize(
    ("pod", "log", "words"),
    [
        pytest.param(pod_that_ended(**DISRUPTED), TORCHRUN_TRACEBACK, "stopped by SIGTERM", id="evicted under torchrun"),
        pytest.param(pod_that_ended(deleted=True), TORCHRUN_TRACEBACK, "stopped by SIGTERM", id="deleted under torchrun"),
        pytest.param(pod_that_ended(code=143, deleted=True), [], "stopped by SIGTERM", id="deleted, by its exit code"),
        pytest.param(
            pod_that_ended(deleted=True),
            ["[rank0]: stopped by SIGTERM, saved step 13", *TORCHRUN_TRACEBACK],
            "stopped by SIGTERM, saved step 13",
            id="and says what it saved",
        ),
    ],
)
def test_a_rank_that_was_stopped_from_outside_is_not_said_to_have_failed(pod: dict[str, Any], log: list[str], words: str) -> None:
    assert failure_lines(job(), [pod], {"worker-0": log}) == [f"pod j-worker-0, container pytorch: {words}"]
    assert failure_cause(job(), [pod], [], {"worker-0": log}).sentence == f"worker-0: {words}"
    described = [*description(job(), Evidence(pods=[pod]), {"worker-0": log}, NOW)]
    assert "Stopped from outside" in described
    assert not any("Faults" in line for line in described)


@pytest.mark.parametrize(
    ("pod", "log"),
    [
        pytest.param(pod_that_ended(), TORCHRUN_TRACEBACK, id="nobody deleted or disrupted its pod"),
        pytest.param(pod_that_ended(deleted=True), ["ValueError: no data"], id="it failed, and was deleted since"),
        pytest.param(pod_that_ended(code=137, **DISRUPTED), ["step 12"], id="it was killed"),
    ],
)
def test_a_rank_that_failed_by_itself_is_not_said_to_have_been_stopped(pod: dict[str, Any], log: list[str]) -> None:
    assert "stopped by SIGTERM" not in "".join(description(job(), Evidence(pods=[pod]), {"worker-0": log}, NOW))
    assert failure_lines(job(), [pod], {"worker-0": log})[0].startswith("pod j-worker-0, container pytorch: Error, exit code")


def test_what_failed_comes_before_those_that_were_stopped_for_it() -> None:
    cause = failed_pod("j-master-0", "master", "2026-01-01T00:00:01Z")
    logs = {"master-0": ["ValueError: no data"], "worker-0": TORCHRUN_TRACEBACK}
    stopped = pod_that_ended(deleted=True)
    assert failure_cause(job(), [stopped, cause], [], logs).sentence == "master-0: exit code 1: ValueError: no data"
    assert "Faults, the likely cause first" in [*description(job(), Evidence(pods=[stopped, cause]), logs, NOW)]
