"""From a v1 job to a TrainJob and its runtime, and the texts that say them."""
