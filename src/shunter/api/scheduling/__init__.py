"""What schedulers and queues read of pods and jobs: what they ask for, what they count for in quotas, PodGroups, Kueue.

Tests: tests/operator/trainer/test_obstacles.py, tests/operator/training/test_gang.py, tests/cluster/controllers/scheduler.
"""
