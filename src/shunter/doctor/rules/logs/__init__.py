"""T: what logs say.

Tests: by the id of the rule in tests/doctor/rule_cases.py and tests/doctor/corpus; more of single rules in
tests/doctor/rules/logs.
"""
