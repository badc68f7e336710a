"""H: what stacks say.

Tests: tests/doctor/rules/stacks, h04 in tests/doctor/test_recorder.py; tests/doctor/corpus and tests/doctor/rule_cases.py, by the
id of the rule.
"""
