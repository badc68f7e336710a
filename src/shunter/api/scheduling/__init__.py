"""What schedulers and queues read of pods and jobs: what they ask for, what they count for in quotas, PodGroups, Kueue;
classes of volumes.

pod_requests.py    CPU, memory and GPUs that a pod, or a group of pods, asks of nodes
node_selectors.py  which nodes the terms of a node selector take
quotas.py          what an object counts for in a ResourceQuota
storage_classes.py    the class that a claim or a volume names
podgroups.py       names of PodGroups, by which gang schedulers place pods together
kueue.py           what Kueue reads of jobs: its label, its versions

Tests: tests/api/scheduling; quotas in tests/cluster/apiserver/admission/test_quota.py, podgroups (names only) in those of
who makes them: tests/operator/training/test_gang.py, tests/operator/trainer/plugins/test_pod_group.py.
"""
