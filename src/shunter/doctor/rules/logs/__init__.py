"""T: what logs say. Cases: tests/doctor/corpus and tests/doctor/rule_cases.py, by the id of the rule; NetworkPolicies of T07 in
tests/network_policy_cases.py."""
