"""The admission webhooks of kubeflow.org/v1, under upstream's paths and names.

Updates are refused for what they make worse only: what another operator's webhooks let through can still be changed, suspended
and deleted.

MPIJobs have no webhook upstream. Ours refuses none of them, and they are created without its answer as well: it only warns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from shunter.api.field_errors import aggregate, new_errors
from shunter.api.shapes import ShapeError, shaped, shaped_if_possible
from shunter.api.training.job import RunPolicy
from shunter.api.training.validation import RUN_POLICY
from shunter.kube.webhooks.registration import Configuration, Webhook
from shunter.kube.webhooks.server import AdmissionRequest, AdmissionResponse, Handler, allowed, changes_nothing_judged, denied
from shunter.operator.training.framework import AnyFramework
from shunter.operator.training.frameworks import FRAMEWORKS
from shunter.operator.training.gang import pod_groups
from shunter.operator.webhook_names import V1_VALIDATOR

WARNING_SECONDS = 3
"""For a webhook that only warns: no write should wait long for that."""


def path(framework: AnyFramework) -> str:
    """`/validate-kubeflow-org-v1-pytorchjob`, upstream's path."""
    return f"/validate-kubeflow-org-v1-{framework.info.resource.kind.lower()}"


class GangScheduling(NamedTuple):
    """The operator's settings for gang scheduling of v1 jobs."""

    scheduler: str = ""
    """Its --gang-scheduler-name; empty when it makes none."""
    is_kind_missing: Callable[[], bool] = lambda: False
    """Whether the cluster is known not to serve the PodGroups of that scheduler."""


def routes(frameworks: Iterable[AnyFramework] = FRAMEWORKS, gangs: GangScheduling | None = None) -> Mapping[str, Handler]:
    """The validating webhooks by path. Without `gangs` there are no warnings about gang scheduling."""
    return {path(framework): _validator(framework, gangs) for framework in frameworks}


def configurations(frameworks: Iterable[AnyFramework] = FRAMEWORKS) -> list[Configuration]:
    """What is to be registered with the API server."""
    webhooks = [_webhook(framework) for framework in frameworks]
    return [Configuration("validating", V1_VALIDATOR, webhooks)] if webhooks else []


def gang_warnings(policy: RunPolicy, gangs: GangScheduling) -> list[str]:
    """Warnings if a new job's gang scheduling will not work as its user may expect."""
    if not policy.is_ours:
        return []
    found = []
    if not gangs.scheduler and policy.scheduling_policy is not None:
        found.append(
            f"{RUN_POLICY}.schedulingPolicy has no effect: the operator runs without --gang-scheduler-name, so pods are placed "
            "one by one, and some may run without the others"
        )
    if gangs.scheduler and gangs.is_kind_missing():
        resource = pod_groups(gangs.scheduler)
        found.append(
            f"the job will wait: its pods are to be placed together by {gangs.scheduler}, and the cluster does not serve "
            f"{resource.full_name} ({resource.version}); install {gangs.scheduler}"
        )
    return found


def _webhook(framework: AnyFramework) -> Webhook:
    name = f"validator.{framework.info.resource.kind.lower()}.training-operator.kubeflow.org"
    webhook = Webhook(name=name, path=path(framework), resource=framework.info.resource)
    if framework.info.is_judged_at_admission:
        return webhook
    # Objects of the mpi-operator, of another version, are none of ours.
    return webhook._replace(failure_policy="Ignore", match_policy="Exact", timeout_seconds=WARNING_SECONDS)


def _validator(framework: AnyFramework, gangs: GangScheduling | None) -> Handler:
    def validate(request: AdmissionRequest) -> AdmissionResponse:
        if changes_nothing_judged(request):
            stored = shaped_if_possible(request.object, framework.info.view)
            return allowed(warnings=framework.validate(stored, None)[1] if stored is not None else ())
        try:
            view = shaped(request.object, framework.info.view)
        except ShapeError as error:
            if not framework.info.is_judged_at_admission:
                return allowed()
            return denied(f"{framework.info.resource.kind} cannot be read: {error}", code=400)
        old = shaped_if_possible(request.old_object, framework.info.view)
        faults, warnings = framework.validate(view, old)
        if old is not None:
            faults = new_errors(faults, framework.validate(old, None)[0])
        elif gangs is not None:
            warnings = [*warnings, *gang_warnings(framework.read(view).run_policy, gangs)]
        return denied(aggregate(faults), warnings=warnings) if faults else allowed(warnings=warnings)

    return validate
