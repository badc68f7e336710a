"""The controller of StatefulSets: pods with names, claims and an order of their own.

Behaves as Kubernetes 1.36's `pkg/controller/statefulset` with the features that are on by default there (so maxUnavailable of a
rolling update is one).
"""
