"""What the controllers of ReplicaSets, Deployments, StatefulSets and DaemonSets share.

claiming.py      whose an object is: adopted, released
pods.py          the pod of a template; active, ready, available
shares.py        `3` or `25%`
hashes.py, revisions.py    names of templates; ControllerRevisions
indexes.py       how pods are found

Tests: tests/cluster/controllers/workloads; revisions.py in tests/cluster/controllers/statefulset/test_history.py; indexes.py by
the plans of the controllers that use it, in tests/cluster/controllers/replicaset.
"""
