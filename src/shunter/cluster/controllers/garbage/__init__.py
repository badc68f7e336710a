"""Owner garbage collection: what its owners left behind is deleted, and who waits for dependents is let go when they are gone.

graph.py        who owns whom, by uid
plan.py         the rules for one object: absent owners, blockOwnerDeletion, foreground, orphans
collector.py    the I/O layer: informers for every kind

Works for every kind the API server serves, on metadata alone.

Tests: tests/cluster/controllers/garbage.
"""
