"""The use cases of the migration, as functions from options to a result. Commands only parse flags and show results.

convert.py     v1 jobs of files or a cluster -> manifests of v2, as a stream or a tree
validate.py    v1 jobs -> the proof of each conversion
plan.py        the v1 jobs of a cluster -> a plan that people edit
apply.py       a plan -> writes to the cluster, each recorded
compare.py     two runs -> whether they trained the same
progress.py    how far work is that takes more than a second

Tests: tests/migrate/use_cases, and those of the commands in tests/cli/migrate and tests/migrate/moving/test_commands.py;
apply.py, plan.py and progress.py in the latter, convert.py and validate.py in those of their command.
"""
