"""v2's webhooks, checked by a dry run of a TrainJob whose runtime does not exist: they must reject it."""

from __future__ import annotations

from collections.abc import Iterator

from shunter.api.meta import Json
from shunter.api.resources import TRAIN_JOBS, TRAINING_RUNTIMES
from shunter.migrate.findings import Topic
from shunter.migrate.moving.readiness.facts import Facts, Fault, UnknownFactError

TOPIC = Topic(
    id="READY005",
    title="the v2 webhooks respond",
    severity="error",
    change="manual",
    grade="N",
    explanation=(
        "The webhooks reject TrainJobs that cannot run: a missing runtime, reserved variables, patches without a match. If they "
        "do not respond, no TrainJob can be created; if they are not called, invalid ones are accepted and hang."
    ),
    remedy="Check that the operator of v2 runs and its webhooks are registered: kubectl get validatingwebhookconfigurations",
)
RUNTIME = "shunter-no-such-runtime"
NO_RUNTIME: Json = {
    "runtimeRef": {"apiGroup": TRAINING_RUNTIMES.group, "kind": TRAINING_RUNTIMES.kind, "name": RUNTIME},
    "trainer": {"numNodes": 1},
}
"""The spec of a TrainJob that every operator of v2 rejects."""


def applies(facts: Facts) -> bool:
    """Whether the cluster serves TrainJobs."""
    return facts.serves(TRAIN_JOBS)


def faults(facts: Facts) -> Iterator[Fault]:
    """Webhooks that are not called, or do not respond. UnknownFactError if the server rejects the dry run before it calls
    them."""
    result = facts.train_job_dry_run
    if result is None:
        return
    if not result.refusal:
        yield Fault("a dry run of a TrainJob without a runtime is accepted: the webhooks are not called.")
    elif "failed calling webhook" in result.refusal:
        yield Fault(f"a dry run of a new TrainJob fails: {result.refusal}")
    elif RUNTIME not in result.refusal and "denied the request" not in result.refusal:
        raise UnknownFactError(f"a dry run of a new TrainJob is rejected before the webhooks are called: {result.refusal}")
