"""Whether a cluster is ready for v2 (`migrate assess`).

gathering.py     reads the facts once
facts.py         what they are; what may not be read is distinguished from what does not exist
checks/          a check a file, pure
assessment.py    all results and the verdict: READY, PARTIAL or BLOCKED

Tests: tests/migrate/moving/readiness; assessment.py in test_checks.py there; facts.py in the latter.
"""
