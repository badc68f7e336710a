"""S: rules by the pace of ranks.

s01_straggler, s02_silent    one rank slows all; no line and no CPU for long

Tests: thresholds and near misses of a rule in the file of its module in tests/doctor/rules/pace; one positive case of each in
tests/doctor/rule_cases.py, recordings in tests/doctor/corpus.
"""
