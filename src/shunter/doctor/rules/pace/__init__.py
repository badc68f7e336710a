"""S: what the pace of ranks says.

Tests: tests/doctor/rules/pace; tests/doctor/corpus and tests/doctor/rule_cases.py, by the id of the rule.
"""
