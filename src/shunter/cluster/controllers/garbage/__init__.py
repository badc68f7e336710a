"""Owner garbage collection: what its owners left behind is deleted, and who waits for dependents is let go when they are gone.

Works for every kind the API server serves, on metadata alone.
"""
