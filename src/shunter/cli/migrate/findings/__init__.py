"""Findings as verbs show them, and those that the user suppressed."""
