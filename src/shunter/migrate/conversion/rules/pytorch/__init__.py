"""Rules about PyTorchJobs: how processes are started and find each other."""
