"""What schedulers and queues read of pods and jobs: what they ask for, what they count for in quotas, PodGroups, Kueue.

Tests: tests/api/scheduling; quotas in tests/cluster/apiserver/admission/test_quota.py, podgroups (names only) in those of
who makes them: tests/operator/training/test_gang.py, tests/operator/trainer/plugins/test_pod_group.py.
"""
