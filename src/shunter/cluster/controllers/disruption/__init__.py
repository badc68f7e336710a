"""The controller of PodDisruptionBudgets: how many pods may be evicted now.

plan.py              one reconcile: how many pods are healthy, and how many there have to be
replica_owners.py    which owners of pods have replicas to count: percentages are of these
controller.py        the I/O layer: what the plan sees, from the shared caches

Behaves as Kubernetes 1.36's `pkg/controller/disruption`. Evictions ask its status, in the API server.

Tests: tests/cluster/controllers/disruption; controller.py in tests/e2e/test_drain.py.
"""
