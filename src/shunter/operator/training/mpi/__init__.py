"""What an MPIJob is made of: pods, access rights, a host list, and how they are kept up.

Tests: tests/operator/training/test_mpi.py; tests/recordings/v1.
"""
