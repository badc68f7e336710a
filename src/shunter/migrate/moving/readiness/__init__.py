"""Whether a cluster is ready for v2 (`migrate assess`).

gathering.py     reads the facts once
facts.py         what they are; not allowed to read is another fact than not there
checks/          a check a file, pure
assessment.py    all results and the word for them: ready, ready with warnings, not ready

Tests: tests/migrate/moving/readiness; assessment.py in test_checks.py there.
"""
