"""Findings as verbs show them, and those that the user suppressed.

printing.py        findings on standard error: place, message and remedy
suppressions.py    what `migration.yaml` and `--accept` let pass

Tests: tests/cli/migrate.
"""
