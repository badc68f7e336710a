"""The Job controller: batch/v1 Jobs to pods, and what has become of them.

Behaves as Kubernetes 1.36's (features that are on by default there). One file per rule; `plan` reads them in order. The one thing
to know before changing it: a pod keeps the tracking finalizer until the Job's stored status accounts for it, so a pod that ends,
or is deleted, is counted exactly once whatever dies in between.

plan.py                                       one reconcile, in the order of its rules
controller.py                                 the I/O layer: what each plan sees, from the shared caches
tally.py, tracking.py, memory.py              what pods add up to; each end counted once; ends of deleted pods
replicas.py, backoff.py                       how many pods run now, and how long one waits for another
verdict.py                                    whether the Job ends: backoffLimit, activeDeadlineSeconds, the policies
pod_failure_policy.py, success_policy.py      the policies
indexes.py, pods.py, status.py, ttl.py        completion indexes; a pod as it is made; the status; its end
                                              podReplacementPolicy (a terminating pod keeps its place): pods.py
orphans.py                                    pods that no Job counts any more

Tests: tests/cluster/controllers/job, startTime of suspended, resumed and finished Jobs in test_start_time.py there;
tests/recordings/job, replayed by tests/cluster/controllers/test_recordings.py; plan.py by these recordings, controller.py in
tests/e2e/test_native_jobs.py.
"""

from shunter.cluster.controllers.job.pods import pods_of

__all__ = ["pods_of"]
