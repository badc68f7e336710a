"""The node's HTTPS server, in kubelet's form.

kubelet_api.py    its paths: container logs, streams, usage
access.py         who may ask: TokenReview and SubjectAccessReview
logs.py           `kubectl logs`: tail, since, timestamps, previous, follow
stats.py          /stats/summary: usage of the node and of its containers; usage.py: processor time and memory, from /proc

Tests: tests/cluster/node/server.
"""
