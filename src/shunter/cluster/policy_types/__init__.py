"""The type check of ValidatingAdmissionPolicies against what they apply to, which is written into their status.

matches.py       the kinds that a policy applies to, as far as it names them
types.py         what the expressions of a policy may name for one kind, and what is wrong with them
schemas.py       a kind's schema, in one piece
controller.py    the I/O layer; it asks the API server for kinds and schemas

It stands beside the other controllers because it uses the expression checker of the API server. Source: k8s.io/apiserver 1.36
`admission/plugin/policy/validating/typechecking.go`, k8s.io/kubernetes `controller/validatingadmissionpolicystatus`.

Tests: tests/cluster/policy_types; tests/vectors/cases/policy-types.yaml; schemas.py in test_types.py, controller.py in
policy-types.yaml.
"""
