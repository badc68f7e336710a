"""One check a module: `TOPIC`, `applies` and `faults`. A module that is put here takes part; nobody keeps a list.

A check says what is wrong and looks at facts only. One that needs something that may not be read is unknown, and says what.

Tests: the table of tests/migrate/moving/readiness/test_checks.py.
"""
