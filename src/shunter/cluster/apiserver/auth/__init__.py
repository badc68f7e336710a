"""Who is asking, what they may do, and the tokens of service accounts.

authn.py            who: bearer tokens, client certificates; impersonation.py: `--as`
authz.py, rbac.py   what: components and users; roles and bindings
escalation.py       nobody grants what they do not have, but for who may `escalate` or `bind`
signers.py          who may approve and sign requests for certificates
reviews.py          TokenReview, SubjectAccessReview, SelfSubjectRulesReview
service_account_tokens.py, token_objects.py    tokens; whether account, pod, Secret or Node are still there

Tests: tests/cluster/apiserver/auth; answers of a real kube-apiserver in tests/vectors/cases/rights.yaml, granted-rights.yaml
(escalation) and access-reviews.yaml (reviews: refused ones, evaluationError); authz.py in test_escalation.py and
test_reviews.py there, token_objects.py in test_authn.py, impersonation.py in tests/vectors/cases/rights.yaml, signers.py in
tests/vectors/cases/signing-requests.yaml.
"""
