"""Follows one job to its end: shows its logs, conditions and causes on a display, and reports how it ended.

Tests: tests/jobs/following; causes of whole jobs in tests/e2e/test_causes.py.
"""
