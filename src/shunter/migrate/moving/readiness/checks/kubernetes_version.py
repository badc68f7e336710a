"""The Kubernetes release: results use fields of Jobs that 1.31 enables and 1.33 makes stable."""

from __future__ import annotations

from collections.abc import Iterator

from shunter.migrate.findings import Topic
from shunter.migrate.moving.readiness.facts import Facts, Fault, UnknownFactError

TOPIC = Topic(
    id="READY001",
    title="the Kubernetes release supports the results",
    severity="error",
    change="unsupported",
    grade="N",
    explanation=(
        "Results use a Job's podFailurePolicy (restartPolicy ExitCode) and successPolicy (the job ends with its Master). Both "
        "are on by default since Kubernetes 1.31; successPolicy is stable since 1.33. An older server drops the fields, and "
        "jobs end differently than in v1."
    ),
    remedy="Upgrade the cluster to Kubernetes 1.33 or newer.",
    effort=13,
)
OLDEST = (1, 31)
STABLE = (1, 33)


def applies(facts: Facts) -> bool:
    """Always, as every cluster has a version."""
    return True


def faults(facts: Facts) -> Iterator[Fault]:
    """A blocking one before 1.31, an advisory one before 1.33. UnknownFactError for a version that is not two numbers."""
    try:
        major, _, minor = facts.version.partition(".")
        version = int(major), int(minor)
    except ValueError:
        raise UnknownFactError(f"the server reports version {facts.version!r}") from None
    if version < OLDEST:
        yield Fault(f"the server is Kubernetes {facts.version}, older than 1.31: it drops successPolicy of Jobs.")
    elif version < STABLE:
        yield Fault(
            f"the server is Kubernetes {facts.version}: successPolicy of Jobs is beta there (feature gate JobSuccessPolicy).",
            remedy="Check that the feature gate JobSuccessPolicy is not disabled.",
            impact="advisory",
        )
