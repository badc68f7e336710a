"""Field ownership and server-side apply, with the semantics of structured-merge-diff v6.4 (Kubernetes 1.36). Pure functions.

The one thing to know before changing it: a set of fields is kept in its wire form (`FieldsV1`, see `field_set`) and is never
decoded, and all walks go over a `FieldTree` compiled once per kind. Together they make a status write cost microseconds, not
milliseconds.

server_side.py     an apply: merge, removal of fields that are no longer applied, conflicts; errors.py: 409 in its words
managed.py         metadata.managedFields on every write; reset.py: fields that an endpoint does not own
compare.py         which fields a write changed; merge.py: a configuration into an object
fields.py, field_set.py    how fields of a kind are merged; sets of them
last_applied.py    from `kubectl apply` to `--server-side`; typed.py: a configuration that does not fit its kind

Tests: tests/cluster/apiserver/apply; answers of a real kube-apiserver in tests/vectors/cases/apply-builtin.yaml and others
there; compare.py, errors.py, last_applied.py, merge.py and typed.py in test_server_side.py there.
"""
