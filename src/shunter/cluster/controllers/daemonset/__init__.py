"""The controller of DaemonSets: one pod on each node that takes it.

Behaves as Kubernetes 1.36's `pkg/controller/daemon`. The scheduler places the pods: each names its node by node affinity.
"""
