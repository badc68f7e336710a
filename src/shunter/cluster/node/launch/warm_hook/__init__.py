"""First in the PYTHONPATH of a warm parent, for the one module in it.

sitecustomize.py    what a warm parent runs before any program

Tests: tests/cluster/node/test_warm_start.py; sitecustomize.py there.
"""
