"""What built-in kinds may say, beside pods, Jobs and those whose rules stand with their kind.

workloads.py, workload_status.py    ReplicaSets, Deployments, DaemonSets, StatefulSets; their counts
autoscalers.py, disruption_budgets.py, quotas.py    HorizontalPodAutoscalers; PodDisruptionBudgets; ResourceQuotas, LimitRanges
services.py, endpoints.py, ingresses.py, network_policies.py    by these names
nodes.py, drivers.py, resources.py    Nodes, RuntimeClasses, Leases; CSI; names and amounts of resources
claims.py    PersistentVolumeClaims, also as templates
signing_requests.py    CertificateSigningRequests
policies.py    admission policies of both kinds, and their bindings

Tests: tests/cluster/apiserver/builtin/rules, tests/vectors (`refused-*`); services.py in
tests/cluster/apiserver/builtin/test_services.py, claims.py in tests/vectors/cases/claims.yaml, signing_requests.py in
tests/vectors/cases/signing-requests.yaml, resources.py in test_quotas.py, workload_status.py in
tests/vectors/cases/statuses.yaml, autoscalers.py in tests/vectors/cases/builtin-others.yaml, disruption_budgets.py in
tests/vectors/cases/percentages.yaml, nodes.py in tests/vectors/cases/subresources.yaml, endpoints.py and policies.py in
tests/vectors/cases/refused-others.yaml.
"""
