"""The controller of StatefulSets: pods with names, claims and an order of their own.

Behaves as Kubernetes 1.36's `pkg/controller/statefulset` with the features that are on by default there (so maxUnavailable of a
rolling update is one).

plan.py         one reconcile: order of pods, rolling update, status
controller.py   the I/O layer: what the plan sees, from the shared caches
identity.py     ordinal, name and claims of a pod
history.py      revisions of the template
retention.py    persistentVolumeClaimRetentionPolicy

Tests: tests/cluster/controllers/statefulset; the controller on a cluster in tests/e2e/test_workloads.py.
"""
