"""v1's webhooks, checked by a dry run of a suspended job: while they do not respond, no v1 job can be changed."""

from __future__ import annotations

from collections.abc import Iterator

from shunter.api.meta import Json
from shunter.api.training.pytorch import PYTORCH_JOBS
from shunter.migrate.findings import Topic
from shunter.migrate.moving.readiness.facts import Facts, Fault

TOPIC = Topic(
    id="READY016",
    title="the v1 webhooks respond",
    severity="warning",
    change="manual",
    grade="D",
    explanation=(
        "While a webhook of v1 is registered and does not respond, v1 jobs can be neither created nor changed: a running job "
        "cannot be suspended for a move, and the side-by-side strategy is not possible."
    ),
    remedy="Check that v1's operator runs, or remove the webhooks that it left behind.",
)
SUSPENDED: Json = {
    "runPolicy": {"suspend": True},
    "pytorchReplicaSpecs": {
        "Master": {"template": {"spec": {"containers": [{"name": "pytorch", "image": "none"}]}}},
    },
}
"""The spec of a small job of v1, for a dry run."""


def applies(facts: Facts) -> bool:
    """Whether the cluster serves PyTorchJobs, of which the dry run is one."""
    return facts.serves(PYTORCH_JOBS)


def faults(facts: Facts) -> Iterator[Fault]:
    """One if the server cannot reach a webhook; none if a webhook rejects the job."""
    result = facts.v1_job_dry_run
    if result is not None and "failed calling webhook" in result.refusal:
        yield Fault(f"a dry run of a new {PYTORCH_JOBS.kind} fails: {result.refusal}")
