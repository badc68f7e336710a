"""What `migrate test` makes and removes, and the trial of a file. Tests: tests/migrate/moving/runs."""
