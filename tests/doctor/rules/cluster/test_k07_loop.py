"""Ranks that fail again and again."""

from __future__ import annotations

import msgspec

from doctor.evidences import ended, failed, log, pod, runs, seen, traceback
from doctor.rule_cases import loops
from job_evidence import NOW, ago, waiting
from shunter.doctor.diagnosing import diagnose


def test_a_program_that_torchrun_does_not_find_is_named_and_not_its_summary() -> None:
    summary = ["ChildFailedError:", "=" * 60, *(f"  rank      : {rank} (local_rank: {rank})" for rank in range(30)), "=" * 60]
    failed_at = (
        "E1126 03:41:13.634000 3 torch/distributed/elastic/multiprocessing/api.py:1002] failed (exitcode: 2) local_rank: 0 ("
    )
    words = "/usr/bin/python3: can't open file '/app/trian.py': [Errno 2] No such file or directory"
    again = log(0, words, failed_at, *summary, previous=True)
    evidence = seen(pod(0, **loops()), pod(1, **runs()), pod(2, **runs()), logs=(again,))
    (verdict,) = diagnose(evidence, NOW).verdicts
    assert (verdict.id, verdict.cause) == ("K07", f"rank 0 ends repeatedly with exit code 1, the last time with {words}")
    assert verdict.remedy.endswith("see the last lines of each run: shunter logs j -n n --rank 0 --previous")
    evidence = seen(*evidence.pods, logs=(again, msgspec.structs.replace(again, is_previous=False)))
    (verdict,) = diagnose(evidence, NOW).verdicts
    assert (verdict.id, verdict.cause) == ("K07", f"rank 0 ends with {words} each time")
    evidence = failed(pod(0, **ended(1)), logs=(log(0, words, failed_at, *summary),))
    (verdict,) = diagnose(evidence, NOW).verdicts
    assert (verdict.id, verdict.cause) == ("T00", f"rank 0 ended with exit code 1: {words}")
    assert verdict.remedy == "Correct the container's command, or what it reads."


def test_a_rank_that_fails_again_and_again_in_pods_that_are_gone_is_a_loop() -> None:
    failure = {"rank": 1, "pod": "j-worker-0", "container": "pytorch", "reason": "Error", "exitCode": 137}
    evidence = seen(pod(0, **runs()), pod(1, **waiting("ContainerCreating")), pod(2, **runs()))
    last = [{**failure, "podUID": f"u{number}", "time": ago(60 - 20 * number)} for number in range(3)]
    evidence.job["status"]["rankFailures"] = {"count": 3, "last": last}
    (verdict,) = diagnose(evidence, evidence.at).verdicts
    assert (verdict.id, verdict.ranks) == ("K07", (1,))


def test_a_loop_of_pods_that_are_gone_under_other_names_is_told_while_the_new_ones_run() -> None:
    """Of a TrainJob that restarted all pods again and again, `jobs` showed CrashLoop, and doctor found no problem."""
    failure = {"rank": 1, "container": "pytorch", "reason": "Error", "exitCode": 1, "message": "KeyError: 'DATASET'"}
    evidence = seen(*(pod(rank, **runs(5)) for rank in range(3)))
    last = [{**failure, "pod": f"j-worker-0-{number}", "time": ago(60 - 20 * number)} for number in range(3)]
    evidence.job["status"]["rankFailures"] = {"count": 3, "last": last}
    (verdict,) = diagnose(evidence, evidence.at).verdicts
    assert (verdict.id, verdict.ranks, verdict.confidence) == ("K07", (1,), "certain")
    assert "KeyError: 'DATASET'" in verdict.cause
    assert verdict.remedy.endswith("see the last lines of each run: shunter describe j -n n"), "logs has only the new pod's"


def test_the_remedy_is_that_of_the_error_where_it_says_itself_what_is_wrong() -> None:
    logs = (log(0, traceback("OSError: [Errno 98] Address already in use"), previous=True),)
    (verdict,) = diagnose(seen(pod(0, **loops()), logs=logs), NOW).verdicts
    assert verdict.id == "K07"
    assert "listens at that port" in verdict.remedy
