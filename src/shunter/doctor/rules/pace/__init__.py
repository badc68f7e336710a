"""S: rules by the pace of ranks.

s01_straggler, s02_silent    one rank slows all; no line and no CPU for long

Tests: by the id of the rule in tests/doctor/rule_cases.py and tests/doctor/corpus; more of single rules in
tests/doctor/rules/pace.
"""
