"""The controller of PodDisruptionBudgets: how many pods may be evicted now.

Behaves as Kubernetes 1.36's `pkg/controller/disruption`. Evictions ask its status, in the API server.
"""
