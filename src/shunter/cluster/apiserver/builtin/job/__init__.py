"""Rules of Jobs and of their status. Tests: tests/vectors/cases/builtin-jobs.yaml."""
