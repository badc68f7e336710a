"""What built-in kinds may say, beside pods, Jobs and those whose rules stand with their kind.

workloads.py, workload_status.py    ReplicaSets, Deployments, DaemonSets, StatefulSets; their counts
autoscalers.py, disruption_budgets.py, quotas.py    HorizontalPodAutoscalers; PodDisruptionBudgets; ResourceQuotas, LimitRanges
services.py, endpoints.py, ingresses.py, network_policies.py    by these names
nodes.py, drivers.py, resources.py    Nodes, RuntimeClasses, Leases; CSI; names and amounts of resources
claims.py    PersistentVolumeClaims, also as templates
signing_requests.py    CertificateSigningRequests
policies.py    admission policies of both kinds, and their bindings

Tests: tests/cluster/apiserver/builtin/rules, tests/vectors (`refused-*`).
"""
