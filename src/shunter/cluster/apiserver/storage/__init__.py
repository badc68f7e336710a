"""The state of the cluster: in memory for reads and watches, in a journal on disk.

store.py          versions, resourceVersion conflicts, watch windows
journal.py        SQLite: a write is acknowledged when it is on disk; state_file.py: format, upgrade, damage
disk_room.py      no new objects while the disk is nearly full
event_expiry.py   Events go after an hour

Tests: tests/cluster/apiserver/storage; journal.py in test_store.py there.
"""
