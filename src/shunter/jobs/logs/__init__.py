"""What the log of a training process says: metrics, progress, checkpoints, network."""
