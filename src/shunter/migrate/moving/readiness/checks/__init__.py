"""One check a module: `TOPIC`, `applies` and `faults`. Every module in this package is a check; there is no list to maintain.

A check says what is wrong and looks at facts only. One that needs something that may not be read is unknown, and says what.

Tests: the table of tests/migrate/moving/readiness/test_checks.py.
"""
