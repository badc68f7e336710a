"""What Kueue reads of jobs."""

QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
"""Names the LocalQueue that a job is admitted from."""
