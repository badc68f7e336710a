"""K: what the cluster says."""
