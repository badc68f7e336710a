"""Options that verbs of `shunter migrate` share. Tests: tests/cli/migrate."""
