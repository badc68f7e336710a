"""What built-in kinds may say, beside pods, Jobs and those whose rules stand with their kind.

Tests: tests/cluster/apiserver/builtin/rules, tests/vectors (`refused-*`).
"""
