"""First in the PYTHONPATH of a warm parent, for the one module in it. Tests: tests/cluster/node/test_warm_start.py."""
