"""Subresources that are actions or streams: binding, eviction, tokens, scale, logs, exec.

actions.py                     binding, eviction (disruption.py: whether budgets allow it), tokens, finalize, scale
scales.py, scale_apply.py      the Scale of a kind, and who owns replicas after it is applied
pod_logs.py, pod_streams.py    logs and streams, passed on to the node

Tests: tests/cluster/apiserver/subresources; tests/vectors/cases/subresources.yaml, scale_apply.py there only; actions.py in
tests/cluster/apiserver/test_server.py.
"""
