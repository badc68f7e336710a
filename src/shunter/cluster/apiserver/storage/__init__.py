"""The state of the cluster: in memory for reads and watches, in a journal on disk."""
