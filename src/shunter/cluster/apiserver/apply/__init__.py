"""Field ownership and server-side apply, with the semantics of structured-merge-diff v6.4 (Kubernetes 1.36). Pure functions.

The one thing to know before changing it: a set of fields is kept in its wire form (`FieldsV1`, see `field_set`) and is never
decoded, and all walks go over a `FieldTree` compiled once per kind. Together they make a status write cost microseconds, not
milliseconds.

Tests: tests/cluster/apiserver/apply; answers of a real kube-apiserver in tests/vectors/cases/apply-builtin.yaml and others there.
"""
