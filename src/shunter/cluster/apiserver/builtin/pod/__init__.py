"""Defaults, rules and warnings of pods and pod templates.

Tests: tests/vectors/cases/builtin-pods.yaml, ephemeral-containers.yaml and pod-warnings.yaml.
"""
