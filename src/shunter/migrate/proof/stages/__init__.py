"""Stages of the proof that need a cluster or a run.

server.py    whether a cluster accepts the objects, by dry runs
runs.py      the result of comparisons of runs

Tests: tests/migrate/proof/stages; that a scratch namespace is removed in tests/e2e/test_migration_proof.py.
"""
