"""The patch formats of the API besides merge patch and server-side apply. Pure functions; inputs are never mutated.

Tests: tests/cluster/apiserver/patch; tests/vectors/cases/patch-json.yaml and patch-strategic.yaml.
"""
