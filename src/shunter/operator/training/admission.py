"""The admission webhooks of kubeflow.org/v1, under upstream's paths and names (W0).

Updates are refused for what they make worse only: what another operator's webhooks let through can still be changed, suspended
and deleted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from shunter.api.field_errors import aggregate, made_worse
from shunter.api.shapes import ShapeError, shaped, shaped_if_possible
from shunter.kube.registration import Configuration, Webhook
from shunter.kube.webhook import AdmissionRequest, AdmissionResponse, Handler, allowed, changes_nothing_judged, denied
from shunter.operator.training.framework import AnyFramework
from shunter.operator.training.frameworks import FRAMEWORKS


def path(framework: AnyFramework) -> str:
    return f"/validate-kubeflow-org-v1-{framework.resource.kind.lower()}"


def routes(frameworks: Iterable[AnyFramework] = FRAMEWORKS) -> Mapping[str, Handler]:
    """Every validating webhook by its path."""
    return {path(framework): _validator(framework) for framework in frameworks if framework.has_webhook}


def configurations(frameworks: Iterable[AnyFramework] = FRAMEWORKS) -> list[Configuration]:
    """What is to be registered with the API server."""
    webhooks = [
        Webhook(
            name=f"validator.{framework.resource.kind.lower()}.training-operator.kubeflow.org",
            path=path(framework),
            resource=framework.resource,
        )
        for framework in frameworks
        if framework.has_webhook
    ]
    return [Configuration("validating", "validator.training-operator.kubeflow.org", webhooks)] if webhooks else []


def _validator(framework: AnyFramework) -> Handler:
    def validate(request: AdmissionRequest) -> AdmissionResponse:
        if changes_nothing_judged(request):
            stored = shaped_if_possible(request.object, framework.view)
            return allowed(warnings=framework.validate(stored, None)[1] if stored is not None else ())
        try:
            view = shaped(request.object, framework.view)
        except ShapeError as error:
            return denied(f"{framework.resource.kind} cannot be read: {error}", code=400)
        old = shaped_if_possible(request.old_object, framework.view)
        faults, warnings = framework.validate(view, old)
        if old is not None:
            faults = made_worse(faults, framework.validate(old, None)[0])
        return denied(aggregate(faults), warnings=warnings) if faults else allowed(warnings=warnings)

    return validate
