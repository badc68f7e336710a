"""The controller of PodDisruptionBudgets: how many pods may be evicted now.

plan.py          one look: how many pods are healthy, and how many there have to be
controller.py    the shell: what the plan sees, from the shared caches

Behaves as Kubernetes 1.36's `pkg/controller/disruption`. Evictions ask its status, in the API server.

Tests: tests/cluster/controllers/disruption.
"""
