"""Who is asking, what they may do, and the tokens of service accounts.

authn.py            who: bearer tokens, client certificates; impersonation.py: `--as`
authz.py, rbac.py   what: components and users; roles and bindings
escalation.py       nobody grants what they do not have, but for who may `escalate` or `bind`
reviews.py          TokenReview, SubjectAccessReview, SelfSubjectRulesReview
service_account_tokens.py, token_objects.py    tokens; whether account, pod, Secret or Node are still there

Tests: tests/cluster/apiserver/auth; tests/vectors/cases/identity.yaml and rights.yaml.
"""
