"""The controller of CronJobs: Jobs at the times of a schedule.

plan.py          one reconcile: the Job that is due, Jobs that are over, the status
times.py         the last missed time of a schedule, and when it is looked at next
controller.py    the I/O layer: what the plan sees, from the shared caches

Behaves as Kubernetes 1.36's `pkg/controller/cronjob`.

Tests: tests/cluster/controllers/cronjob; the controller on a cluster in tests/e2e/test_workloads.py.
"""
