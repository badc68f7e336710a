"""Who is asking, what they may do, and the tokens of service accounts.

Tests: tests/cluster/apiserver/auth; tests/vectors/cases/identity.yaml and rights.yaml.
"""
