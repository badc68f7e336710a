"""Findings as verbs show them, and those that the user suppressed. Tests: tests/cli/migrate."""
