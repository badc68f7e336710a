"""What texts say of v1, line by line: the rules that the conversion and the scan share.

rules.py        what a line shows: commands, labels, host names, ports, metrics
reference.py    one place that speaks of v1

Tests: tests/scenarios/migrate/text, tests/migrate/survey/scan/cases.yaml.
"""
