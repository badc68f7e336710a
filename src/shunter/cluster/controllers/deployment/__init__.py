"""The controller of Deployments: a ReplicaSet for each version of the template, and how one takes over from the others.

Behaves as Kubernetes 1.36's `pkg/controller/deployment`. A plan changes no ReplicaSet twice: the sizes that rules want
are collected first (`sizes.py`).

plan.py         one reconcile, in the order of its rules
controller.py   the I/O layer: what the plan sees, from the shared caches
bounds.py       maxSurge and maxUnavailable
sizes.py        how large each ReplicaSet should be now: rollout, scaling
history.py      versions, revision numbers, revisionHistoryLimit
progress.py     status and conditions, progressDeadlineSeconds

Tests: tests/cluster/controllers/deployment; the controller on a cluster in tests/e2e/test_workloads.py.
"""
