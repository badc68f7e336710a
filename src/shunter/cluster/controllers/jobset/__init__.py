"""The JobSet controller: jobset.x-k8s.io/v1alpha2 JobSets to Jobs, and what has become of them.

Behaves as JobSet 0.12 with its default feature gates. One policy, one file; `plan` reads them in order. Children are found by
their controller reference, and which run they belong to by their restart-attempt label.

failure_policy.py, success_policy.py    failurePolicy, maxRestarts; successPolicy
startup_policy.py, depends_on.py        startupPolicy; dependsOn
suspension.py, ttl.py                   suspend; ttlSecondsAfterFinished
volume_claims.py, service.py            volumeClaimPolicies; the headless service
jobs.py, labels.py, names.py            what each Job is; its labels; names and host names
children.py, replicated_status.py, progress.py    Jobs by what they mean; status.replicatedJobsStatus; status and events
plan.py, controller.py                  one reconcile; the I/O layer

Tests: tests/cluster/controllers/jobset; tests/recordings/jobset, replayed by tests/cluster/controllers/test_recordings.py;
plan.py by these recordings, controller.py in tests/cluster/controllers/jobset/test_left_over.py.
"""

from shunter.cluster.controllers.jobset.jobs import jobs_of

__all__ = ["jobs_of"]
