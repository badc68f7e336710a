"""What schedulers and queues read of pods and jobs: what they ask for, what they count for in quotas, PodGroups, Kueue."""
