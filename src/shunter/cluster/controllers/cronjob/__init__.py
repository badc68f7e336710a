"""The controller of CronJobs: Jobs at the times of a schedule.

Behaves as Kubernetes 1.36's `pkg/controller/cronjob`.
"""
