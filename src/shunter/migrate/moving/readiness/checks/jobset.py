"""JobSet: its API, its controller, its webhooks."""

from __future__ import annotations

from collections.abc import Iterator

from shunter.api.meta import Json
from shunter.api.resources import DEPLOYMENTS, JOBSETS, MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS
from shunter.api.titles import title_of
from shunter.migrate.findings import Topic
from shunter.migrate.moving.readiness.facts import Facts, Fault

TOPIC = Topic(
    id="READY004",
    title="JobSet is installed and works",
    severity="error",
    change="manual",
    grade="N",
    explanation=(
        "A TrainJob runs as a JobSet. Without the JobSet kind no JobSet is created; without its controller the JobSet is not "
        "reconciled; while its webhooks do not respond, no JobSet can be created, and only an event of the TrainJob reports it."
    ),
    remedy="Install JobSet 0.12 or newer (docs/install.md), and check that its pods are ready.",
)
SMALL_JOBSET: Json = {
    "replicatedJobs": [
        {
            "name": "node",
            "template": {
                "spec": {
                    "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "node", "image": "none"}]}},
                }
            },
        }
    ]
}
"""Spec for a dry run."""


def applies(facts: Facts) -> bool:
    """Always, as every TrainJob becomes a JobSet."""
    return True


def faults(facts: Facts) -> Iterator[Fault]:
    """What is missing or does not respond. The embedded cluster has neither a Deployment nor webhooks of JobSet."""
    if not facts.serves(JOBSETS):
        yield Fault(f"the cluster does not serve {JOBSETS.api_version}.")
        return
    result = facts.jobset_dry_run
    if result is not None and result.refusal and result.code != 403:
        yield Fault(f"a dry run of a new JobSet fails: {result.refusal}")
    if facts.is_embedded:
        return
    controllers = [deployment for deployment in facts.all(DEPLOYMENTS) if _is_controller(deployment)]
    if not controllers:
        yield Fault("JobSet's controller has no Deployment: something else reconciles JobSets, or nothing does.",
                    remedy="Check that JobSets are reconciled: create one and watch it.", impact="advisory")  # fmt: skip
    for deployment in controllers:
        if not (deployment.get("status") or {}).get("availableReplicas"):
            yield Fault("none of its pods is available.", title_of(deployment))
    configurations = [*facts.all(MUTATING_WEBHOOKS), *facts.all(VALIDATING_WEBHOOKS)]
    if not any(_is_about_jobsets(configuration) for configuration in configurations):
        yield Fault("no webhook validates new JobSets: a name that is too long fails only when pods are created.",
                    remedy="Install JobSet with its webhooks.", impact="advisory")  # fmt: skip


def _is_controller(deployment: Json) -> bool:
    labels = deployment["metadata"].get("labels") or {}
    return "jobset" in (labels.get("app.kubernetes.io/name") or deployment["metadata"]["name"])


def _is_about_jobsets(configuration: Json) -> bool:
    rules = [rule for hook in configuration.get("webhooks") or () for rule in hook.get("rules") or ()]
    return any(JOBSETS.group in (rule.get("apiGroups") or ()) for rule in rules)
