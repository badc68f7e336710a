"""What there is of v1, in words and figures.

inventory/    every job with the work that it is, and all of them together
neighbours/   objects that select the jobs' pods
scan/         what else in a repository speaks of v1; sdk_moves.py: the calls of v1's SDK
report/       findings as files, in five forms; briefing/: the pages for people who decide
explaining/   findings and fields in words

Tests: tests/migrate/survey.
"""
