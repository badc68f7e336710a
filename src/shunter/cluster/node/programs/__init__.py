"""Programs that the node brings into pods.

shims.py                what pods expect of their image and bare machines lack
kubectl_exec.py         the `kubectl` of an MPIJob's launcher
in_cluster_python.py    Python's Kubernetes clients find the service account, where nothing can be mounted

Tests: tests/cluster/node/programs; in_cluster_python.py in tests/cluster/node/test_service_accounts.py.
"""
