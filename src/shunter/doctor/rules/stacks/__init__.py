"""H: what stacks say.

Tests: by the id of the rule in expected.yaml of tests/doctor/corpus; more of each rule in tests/doctor/rules/stacks.
"""
