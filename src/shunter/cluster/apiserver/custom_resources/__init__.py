"""CustomResourceDefinitions: their rules, their life, and the kinds that they define.

Tests: tests/cluster/apiserver/custom_resources; tests/vectors/cases/schema-definitions.yaml.
"""
