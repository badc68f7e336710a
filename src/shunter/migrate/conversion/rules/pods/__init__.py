"""Rules about pod templates. Tests: tests/scenarios/migrate/pod-template, environment and metadata."""
