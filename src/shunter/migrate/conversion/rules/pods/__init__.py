"""Rules about pod templates.

Tests: tests/scenarios/migrate/pod-template, environment, metadata, and input for `repeated_entries`.
"""
