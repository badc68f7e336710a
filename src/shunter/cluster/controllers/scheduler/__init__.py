"""The scheduler: which node runs a pending pod.

Rules of kube-scheduler's filters that concern a single machine. Not looked at: pod affinity, topology spread, host ports,
volumes, preemption.

fit.py           node selector, required node affinity, taints, resources, number of pods, and the words when a node does not fit
claims.py        claims that are missing or not bound yet
plan.py          whose turn it is (priority, age); the node, or condition and event
resources.py, pod.py    what a node has left; what a pod asks
controller.py    the I/O layer

Tests: tests/cluster/controllers/scheduler; pod in test_fit.py and test_resources.py there; controller.py in test_plan.py there
and tests/e2e.
"""
