"""Rules about PyTorchJobs: how processes are started and find each other.

Tests: tests/scenarios/migrate/pytorch, tests/migrate/conversion/kinds/test_pytorch.py.
"""
