"""Admission of a write: the built-in steps and the webhooks.

chain.py                    their order
limit_range.py, quota.py, service_account.py, jobset.py    built-in steps; jobset.py stands for JobSet's own webhooks
policies.py                 ValidatingAdmissionPolicies
webhooks.py                 which webhooks are asked; match_conditions, webhook_calls, webhook_answers: parts of that

Tests: tests/cluster/apiserver/admission; tests/vectors/cases/limits.yaml, policies.yaml and webhooks.yaml.
"""
