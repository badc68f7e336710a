"""The built-in kinds: what kubectl, SDKs and controllers use of Kubernetes' own. A module per family.

What kinds refuse, default and warn of stands with the kind, or in rules/, pod/ and job/.

Tests: tests/cluster/apiserver/builtin; requests and the answers of a real kube-apiserver in tests/vectors/cases (builtin-*.yaml,
refused-*.yaml).
"""

from __future__ import annotations

from shunter.cluster.apiserver.builtin import (
    access,
    autoscaling,
    config,
    custom_definitions,
    events,
    jobs,
    namespaces,
    plain,
    pods,
    policies,
    scheduling,
    services,
    storage,
    webhooks,
    workloads,
)
from shunter.cluster.apiserver.kinds import Kind


def kinds() -> list[Kind]:
    """Every built-in kind."""
    return [
        namespaces.kind(),
        pods.kind(),
        services.kind(),
        *config.kinds(),
        *events.kinds(),
        *storage.kinds(),
        *jobs.kinds(),
        *workloads.kinds(),
        autoscaling.kind(),
        scheduling.kind(),
        *access.kinds(),
        *webhooks.kinds(),
        *policies.kinds(),
        custom_definitions.kind(),
        *plain.kinds(),
    ]
