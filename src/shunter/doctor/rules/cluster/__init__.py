"""K: what the cluster says. Tests: tests/doctor/corpus and tests/doctor/rule_cases.py, by the id of the rule."""
