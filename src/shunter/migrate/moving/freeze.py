"""The freeze of v1: an admission policy that first warns about new jobs of kubeflow.org/v1, then refuses them. Existing jobs
continue to run, and may be changed and deleted."""

from __future__ import annotations

from collections.abc import Sequence

from shunter.api.meta import Json
from shunter.api.resources import VALIDATING_POLICIES, VALIDATING_POLICY_BINDINGS
from shunter.api.training.kinds import JOB_KINDS
from shunter.kube.client import Client
from shunter.kube.discovery import Discovery
from shunter.kube.errors import ApiError
from shunter.migrate.moving.annotations import PLAN

MESSAGE = (
    "jobs of kubeflow.org/v1 are being migrated to trainer.kubeflow.org/v1alpha1: create a TrainJob "
    "(shunter migrate convert shows it)"
)
DENYING: Json = {"spec": {"validationActions": ["Deny"]}}


_PREFIX = "shunter-migration-"


def name(plan_id: str) -> str:
    """The name of the policy and of its binding: `shunter-migration-ID`."""
    return f"{_PREFIX}{plan_id}"


def refuses(error: ApiError) -> bool:
    """Whether a freeze of any plan of ours refused to create a v1 job. The API server evaluates such policies after it has
    validated fields and schema (tests/conformance/test_migration_freeze.py), and before validating webhooks."""
    return f"{VALIDATING_POLICIES.kind} '{_PREFIX}" in error.message and MESSAGE in error.message


def policy(plan_id: str) -> Json:
    """The policy against every new job of v1; the binding decides whether it warns or refuses. It matches `Exact`, as the
    mpi-operator's MPIJobs are another version of the same resource."""
    rule = {
        "apiGroups": [JOB_KINDS[0].resource.group],
        "apiVersions": [JOB_KINDS[0].resource.version],
        "operations": ["CREATE"],
        "resources": sorted(kind.resource.plural for kind in JOB_KINDS),
    }
    spec = {
        "failurePolicy": "Ignore",
        "matchConstraints": {"matchPolicy": "Exact", "resourceRules": [rule]},
        "validations": [{"expression": "false", "message": MESSAGE}],
    }
    return VALIDATING_POLICIES.typed({"metadata": _metadata(plan_id), "spec": spec})


def binding(plan_id: str, namespaces: Sequence[str]) -> Json:
    """The binding that warns, in these namespaces, or in all if there are none."""
    spec: Json = {"policyName": name(plan_id), "validationActions": ["Warn", "Audit"]}
    if namespaces:
        chosen = {"key": "kubernetes.io/metadata.name", "operator": "In", "values": sorted(namespaces)}
        spec["matchResources"] = {"namespaceSelector": {"matchExpressions": [chosen]}}
    return VALIDATING_POLICY_BINDINGS.typed({"metadata": _metadata(plan_id), "spec": spec})


async def is_possible(client: Client) -> bool:
    """Whether the cluster supports such policies; the embedded one does not."""
    return VALIDATING_POLICIES in await Discovery(client).resources(VALIDATING_POLICIES.api_version)


def _metadata(plan_id: str) -> Json:
    return {"name": name(plan_id), "annotations": {PLAN: plan_id}}
