"""Following one job to its end: what is shown of it meanwhile and where, and how it ended.

Tests: tests/jobs/following; causes of whole jobs in tests/e2e/test_causes.py.
"""
