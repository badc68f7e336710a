"""The built-in kinds: what kubectl, SDKs and controllers use of Kubernetes' own. A module per family.

pods.py, pod/             pods: admission, reset of fields; their rules and defaults
jobs.py, job/             Jobs and CronJobs; their rules
workloads.py              apps/v1; services.py: addresses and node ports
storage.py, config.py     claims, volumes, StorageClasses; ConfigMaps and Secrets, `immutable`
access.py, namespaces.py, scheduling.py, autoscaling.py    RBAC; Namespaces; PriorityClasses; HorizontalPodAutoscalers
webhooks.py, crds.py      admission webhooks; CustomResourceDefinitions
policies.py, mutating_policies.py    ValidatingAdmissionPolicies; MutatingAdmissionPolicies
signing_requests.py       CertificateSigningRequests, and their approval
events.py, plain.py       Events in two groups; kinds that are only kept, and the warning of NetworkPolicies that a node does not
                          enforce
rules/                    what the others refuse; typed.py: how a kind gets its schema

Tests: tests/cluster/apiserver/builtin, NetworkPolicies (plain.py) in test_network_policies.py there; requests and the answers
of a real kube-apiserver in tests/vectors/cases (builtin-*.yaml, refused-*.yaml; addresses, node ports and health check ports of
Services in service-addresses.yaml); pods.py and jobs.py in builtin-pods.yaml and builtin-jobs.yaml, workloads.py in
builtin-workloads.yaml, policies.py and mutating_policies.py in policies.yaml and mutating-policies.yaml, webhooks.py in
webhooks.yaml, signing_requests.py in signing-requests.yaml, crds.py in definitions.yaml, access.py in rights.yaml,
autoscaling.py in builtin-others.yaml, namespaces.py in immutable.yaml, scheduling.py in refused-others.yaml there; typed.py in
test_config.py.
"""

from __future__ import annotations

from shunter.cluster.apiserver.builtin import (
    access,
    autoscaling,
    config,
    crds,
    events,
    jobs,
    mutating_policies,
    namespaces,
    plain,
    pods,
    policies,
    scheduling,
    services,
    signing_requests,
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
        signing_requests.kind(),
        *webhooks.kinds(),
        *policies.kinds(),
        *mutating_policies.kinds(),
        crds.kind(),
        *plain.kinds(),
    ]
