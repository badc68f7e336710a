"""Admission of a write: the built-in steps and the webhooks.

chain.py, attributes.py     their order; a write as rules and webhooks see it
limit_range.py, quota.py, runtime_class.py, service_account.py, jobset.py    built-in steps; jobset.py stands for JobSet's own
                            webhooks
policies.py, mutating_policies.py    ValidatingAdmissionPolicies; MutatingAdmissionPolicies
bound_policies.py           which of them a write concerns; policy_expressions.py: their expressions over it; expression_types.py:
                            what these may read
webhooks.py                 which webhooks are asked; match_conditions.py: the CEL expressions that keep a write from them
webhook_calls.py            a webhook asked, and that it cannot be reached; webhook_answers.py: what is taken for an answer

Tests: tests/cluster/apiserver/admission; what is refused in tests/vectors/cases: limits.yaml, quotas.yaml,
runtime-classes.yaml, policies.yaml, mutating-policies.yaml, policies-with-webhooks.yaml, policy-types.yaml and webhooks.yaml;
attributes.py, bound_policies.py, expression_types.py, match_conditions.py and policy_expressions.py in test_policies.py there,
webhook_answers.py and webhook_calls.py in test_webhooks.py, chain.py in tests/cluster/apiserver/test_writes.py, jobset.py in
tests/recordings/jobset.
"""
