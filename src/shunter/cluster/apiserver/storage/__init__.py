"""The state of the cluster: in memory for reads and watches, in a journal on disk.

Tests: tests/cluster/apiserver/storage; `disk_room` in tests/cluster/apiserver/test_full_disk.py.
"""
