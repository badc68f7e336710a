"""Ranks that failed by themselves: exceptions, signals, last words, and where the record of a job is all there is."""

from __future__ import annotations

import pytest

from doctor.evidences import ended, failed, log, pod, traceback
from doctor.rule_cases import CASES
from job_evidence import NOW, ago, event, v1_job
from shunter.doctor.diagnosing import diagnose
from shunter.doctor.evidence import Missing
from shunter.operator.diagnosis import RANK_FAILED


def test_what_failed_is_known_from_the_record_of_a_job_whose_pods_are_gone() -> None:
    failure = {"rank": 1, "pod": "j-worker-0", "podUID": "u", "container": "pytorch", "reason": "Error", "exitCode": 1}
    evidence = failed()
    said = {"message": "KeyError: 'DATASET'", "time": ago(20)}
    evidence.job["status"]["rankFailures"] = {"count": 1, "last": [{**failure, **said}]}
    (verdict,) = diagnose(evidence, evidence.at).verdicts
    assert (verdict.id, verdict.ranks, verdict.cause) == ("T00", (1,), "rank 1 ended with KeyError: 'DATASET'")


@pytest.mark.parametrize("code", [137, 143, 1])
def test_the_record_of_a_pod_that_is_gone_gives_the_verdict_that_the_pod_gave(code: int) -> None:
    gone, there = failed(), failed(pod(1, **ended(code, at=20)))
    failure = {"rank": 1, "pod": "j-worker-0", "podUID": "u", "container": "pytorch", "reason": "Error", "exitCode": code}
    gone.job["status"]["rankFailures"] = {"count": 1, "last": [{**failure, "time": ago(20)}]}
    by_pod, by_record = ([(one.id, one.cause) for one in diagnose(seen, NOW).verdicts] for seen in (there, gone))
    assert by_record[0][0] == by_pod[0][0] == ("T90" if code == 143 else "T00")
    assert by_record[0][1].split(":")[0] == by_pod[0][1].split(":")[0]


@pytest.mark.parametrize("words", ["error: --global-batch 7 must be a multiple of 2 ranks.", "train.py: error: no option --lrr"])
def test_a_program_that_refuses_its_input_is_quoted(words: str) -> None:
    evidence = failed(pod(0, **ended(2)), logs=(log(0, "reading data", words, "bye"),))
    (verdict,) = diagnose(evidence, evidence.at).verdicts
    assert (verdict.id, verdict.confidence, verdict.cause) == ("T00", "certain", f"rank 0 ended with exit code 2: {words}")
    assert words in [excerpt.text for excerpt in verdict.evidence]


@pytest.mark.parametrize(
    ("code", "words", "cause", "remedy"),
    [
        (255, "exec /bin/train: exec format error", "exit code 255: exec /bin/train: exec format error", "architecture"),
        (132, "step 1 loss 0.5", "was ended by illegal instruction (exit code 132)", "newer CPU"),
        (134, "malloc(): invalid size (unsorted)", "ended with malloc(): invalid size (unsorted)", ""),
        (134, "free(): double free detected in tcache 2", "ended with free(): double free detected in tcache 2", ""),
        (1, traceback("RuntimeError: DataLoader worker (pid 8) is killed by signal: Killed. "), "signal: Killed.", "num_workers"),
        (1, traceback("RuntimeError: DataLoader worker (pid(s) 8) exited unexpectedly"), "unexpectedly", "num_workers"),
        (
            1, traceback('RuntimeError: Error(s) in loading state_dict for Net:\n\tMissing key(s) in state_dict: "bias". '),
            'ended with RuntimeError: Error(s) in loading state_dict for Net: Missing key(s) in state_dict: "bias".', "traceback",
        ),
        (1, traceback("EOFError: EOF when reading a line"), "EOFError: EOF when reading a line", "arguments, after --"),
        (1, traceback("OSError: [Errno 98] Address already in use"), "[Errno 98] Address already in use", "listens at that port"),
        (139, "Segmentation fault", "ended with Segmentation fault", "PYTHONFAULTHANDLER"),
        (139, "step 1 loss 0.5", "was ended by segmentation fault (exit code 139)", "PYTHONFAULTHANDLER"),
        (1, traceback("OSError: [Errno 24] Too many open files: 'f'"), "Too many open files: 'f'", "sharing_strategy"),
    ],
)  # fmt: skip
def test_ends_without_an_exception_of_their_own_are_named(code: int, words: str, cause: str, remedy: str) -> None:
    lost = [log(rank, traceback("RuntimeError: [1] Connection reset by peer"), at=29) for rank in (0, 2)]
    pods = [pod(0, **ended(1, at=29)), pod(1, **ended(code)), pod(2, **ended(1, at=29))]
    (verdict,) = diagnose(failed(*pods, logs=(*lost, log(1, words))), NOW).verdicts
    assert (verdict.id, verdict.ranks, verdict.victims, verdict.confidence) == ("T00", (1,), (0, 2), "certain")
    assert cause in verdict.cause
    assert remedy in verdict.remedy


@pytest.mark.parametrize(
    ("last", "quoted"), [("config: learning_rate must be > 0", ["config: learning_rate must be > 0"]), ("step 6 loss 0.2", [])]
)
def test_the_last_words_of_a_rank_without_an_exception_are_shown_and_no_step(last: str, quoted: list[str]) -> None:
    lost = log(0, traceback("RuntimeError: [1] Connection reset by peer"), at=29)
    (verdict,) = diagnose(
        failed(pod(0, **ended(1, at=29)), pod(1, **ended(1)), logs=(lost, log(1, "step 5", last))), NOW
    ).verdicts
    assert (verdict.id, verdict.ranks, verdict.confidence) == ("T00", (1,), "possible")
    assert [one.text for one in verdict.evidence if one.source == "log"] == quoted


def test_what_failed_is_known_from_events_where_a_job_has_no_record() -> None:
    told = "rank 1, pod j-worker-0, container pytorch: Error, exit code 1. Last log lines:\nKeyError: 'DATASET'"
    evidence = failed(events=[event(v1_job(2)["metadata"]["uid"], RANK_FAILED, told)])
    (verdict,) = diagnose(evidence, evidence.at).verdicts
    assert (verdict.id, verdict.ranks, verdict.cause) == ("T00", (1,), "rank 1 ended with KeyError: 'DATASET'")


@pytest.mark.parametrize(("is_refused", "remedy"), [(False, ""), (True, "Its log could not be read.")])
def test_a_log_that_was_not_asked_for_is_not_said_to_be_unreadable(is_refused: bool, remedy: str) -> None:
    """`run` diagnoses without logs, which it shows itself: it said this below the log that it had printed."""
    evidence = failed(pod(0, **ended(130)), missing=(Missing(what="logs", why="none", is_refused=is_refused),))
    (verdict,) = diagnose(evidence, NOW).verdicts
    assert (verdict.cause, verdict.remedy) == ("rank 0 was ended by SIGINT (exit code 130)", remedy)


def test_the_remedy_of_an_exception_is_a_command_for_its_rank() -> None:
    evidence, _ = CASES["a rank ended with an exception"]
    (verdict,) = diagnose(evidence, evidence.at).verdicts
    assert verdict.remedy == "Read the traceback above that line: shunter logs j -n n --rank 0"
