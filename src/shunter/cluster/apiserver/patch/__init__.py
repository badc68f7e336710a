"""The patch formats of the API besides merge patch and server-side apply. Pure functions; inputs are never mutated.

requests.py      PATCH: its four formats, each to a new object
json_patch.py    JSON patch, as kube-apiserver takes it
strategic.py     strategic merge patch: which lists are merged
errors.py        why a patch was refused

Tests: tests/cluster/apiserver/patch; tests/vectors/cases/patch-json.yaml and patch-strategic.yaml; errors.py in
test_json_patch.py and test_strategic.py there, requests.py in tests/vectors/cases/wrong-requests.yaml.
"""
