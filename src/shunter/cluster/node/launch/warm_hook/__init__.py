"""First in the PYTHONPATH of a warm parent, for the one module in it."""
