"""The Job controller: batch/v1 Jobs to pods, and what has become of them.

Behaves as Kubernetes 1.36's (features that are on by default there). One file per rule; `plan` reads them in order. The one thing
to know before changing it: a pod keeps the tracking finalizer until the Job's stored status accounts for it, so a pod that ends,
or is deleted, is counted exactly once whatever dies in between.

Tests: tests/cluster/controllers/job; tests/recordings/job, replayed by tests/cluster/controllers/test_recordings.py.
"""

from shunter.cluster.controllers.job.pods import pods_of

__all__ = ["pods_of"]
