"""What texts say of v1, line by line: the rules that the conversion and the scan share.

Tests: tests/scenarios/migrate/text, tests/migrate/survey/scan/cases.yaml.
"""
