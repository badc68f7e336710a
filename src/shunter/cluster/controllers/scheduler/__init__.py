"""The scheduler: which node runs a pending pod.

Rules of kube-scheduler's filters that concern a single machine: node selector and required node affinity, taints, resources,
number of pods. Not looked at: pod affinity, topology spread, host ports, volumes, preemption.
"""
