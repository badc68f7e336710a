"""The controller of Deployments: a ReplicaSet for each version of the template, and how one takes over from the others.

Behaves as Kubernetes 1.36's `pkg/controller/deployment`. A plan changes no ReplicaSet twice: the sizes that rules want
are collected first (`sizes.py`).
"""
