"""A change of a condition as a sentence."""

from __future__ import annotations

from typing import Any

import pytest

from shunter.jobs.condition_sentences import sentence


def condition(type: str, status: str, message: str = "") -> dict[str, Any]:
    return {"type": type, "status": status, "message": message, "reason": "x"}


def job(*conditions: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": "j", "namespace": "n", "uid": "u"},
        "spec": {"pytorchReplicaSpecs": {"Master": {}}},
        "status": {"conditions": list(conditions)},
    }


RUNNING = condition("Running", "True", "PyTorchJob n/j is running.")


RAN = condition("Running", "False", "PyTorchJob n/j is running.")


SUSPENDED = condition("Suspended", "True", "PyTorchJob j is suspended.")


RESUMED = condition("Suspended", "False", "PyTorchJob j is resumed.")


SENTENCES = {
    "runs": (job(RUNNING), RUNNING, "Running: PyTorchJob n/j is running."),
    "ran, and has failed": (job(condition("Failed", "True"), RAN), RAN, ""),
    "ran, and is suspended": (job(RAN, SUSPENDED), RAN, ""),
    "ran, and nobody says why no longer": (job(RAN), RAN, "No longer running"),
    "is suspended": (job(SUSPENDED), SUSPENDED, "Suspended: PyTorchJob j is suspended."),
    "is resumed": (job(RESUMED), RESUMED, "Resumed: PyTorchJob j is resumed."),
    "restarts no more": (job(condition("Restarting", "False", "x is restarting")), condition("Restarting", "False", "x"), ""),
    "cannot be made, which is told as the cause": (job(), condition("Created", "False", "JobSet j was rejected: no."), ""),
    "waits for its gang, which is told as the cause": (
        job(),
        {**condition("Created", "True", "waits for PodGroup j"), "reason": "PyTorchJobWaitingForPodGroup"},
        "",
    ),
    "a condition of others": (job(), condition("Audited", "False", "it is audited"), "No longer Audited"),
    "unknown": (job(), condition("Audited", "Unknown"), "it is unknown whether the job is Audited"),
}


@pytest.mark.parametrize(("of", "changed", "text"), SENTENCES.values(), ids=SENTENCES)
def test_a_change_of_a_condition_reads_as_a_sentence(of: dict[str, Any], changed: dict[str, Any], text: str) -> None:
    """Upstream leaves the message of Running as it was when the job ends: `no longer Running: it is running`."""
    assert sentence(of, changed) == text
