"""Ranks that only lost a peer, and pods that are gone."""

from __future__ import annotations

from doctor.evidences import ended, failed, log, pod, traceback
from job_evidence import NOW, v1_job
from shunter.doctor.diagnosing import diagnose
from shunter.doctor.evidence import Evidence, Missing


def test_a_pod_that_is_gone_without_a_failure_was_probably_deleted() -> None:
    reset = "RuntimeError: [/pytorch/gloo/transport/tcp/pair.cc:553] Connection reset by peer [10.1.0.4]:5120"
    lost = {rank: (pod(rank, **ended(1)), log(rank, traceback(reset))) for rank in (0, 2)}

    def causes(evidence: Evidence) -> list[str]:
        return [f"{one.id} {one.confidence} {one.cause}" for one in diagnose(evidence, NOW).verdicts]

    pods, logs = zip(*lost.values(), strict=True)
    (said,) = causes(failed(*pods, logs=logs))
    assert said.endswith("the pod of rank 1 no longer exists and no failure of it was recorded: it was probably deleted")
    all_gone = "T90 possible no pod is left and no failure of ranks 0-2 was recorded: the pods were probably deleted"
    assert causes(failed()) == [all_gone]
    over = [{"type": "Failed", "status": "True", "reason": "PyTorchJobFailed", "message": "failed"}]
    cleaned = v1_job(2, policy={"cleanPodPolicy": "All"}, conditions=over)
    assert causes(failed(job=cleaned)) == []
    (said,) = causes(failed(*pods, logs=logs, job=cleaned))
    assert said.endswith("the first cause is not visible")
    assert causes(failed(missing=(Missing(what="pods", why="you may not list pods in n"),))) == []
