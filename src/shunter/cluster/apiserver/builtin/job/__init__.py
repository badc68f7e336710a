"""Rules of Jobs and of their status.

rules.py           what a Job may say, and what of it may change
status_rules.py    what a write of its status may say
indexes.py         completedIndexes: `0,2-5`

Tests: tests/vectors/cases/builtin-jobs.yaml; indexes.py in tests/cluster/apiserver/builtin/job; rules.py in builtin-jobs.yaml,
status_rules.py in statuses.yaml.
"""
