"""The controller of ReplicaSets and ReplicationControllers: so many pods of one template.

plan.py, victims.py    pods to create or delete, and the status; which pods go first
controller.py          the I/O layer

Behaves as Kubernetes 1.36's `pkg/controller/replicaset`, which serves both kinds too.

Tests: tests/cluster/controllers/replicaset; the controller on a cluster in tests/e2e/test_workloads.py.
"""
