"""Rules about what programs of the pods say and read."""
