"""The controller of ReplicaSets and ReplicationControllers: so many pods of one template.

Behaves as Kubernetes 1.36's `pkg/controller/replicaset`, which serves both kinds too.
"""
