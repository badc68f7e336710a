"""CustomResourceDefinitions: their rules, their life, and the kinds that they define.

Tests: tests/cluster/apiserver/test_custom_resource_definitions.py; tests/vectors/cases/schema-definitions.yaml.
"""
