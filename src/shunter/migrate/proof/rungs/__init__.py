"""Rungs of the ladder that need a cluster or a run."""
