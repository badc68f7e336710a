"""The rows of a view, kept up to date while they are shown.

    view_refresh.py     when a view's objects are watched, read again, its permissions checked, and its rows made
    watched_objects.py  what a view keeps of the objects that its watches report                   no I/O
    hidden.py           describes missing permissions                                              no I/O
    live.py             rows by id, coalesced: a snapshot, then changes                            no I/O
    slow_readings.py    readings that get no answer
    freed_memory.py     returns memory to the system after the first lists

Tests: tests/page/refresh (slow_readings in test_view_refresh.py); permissions that are taken away in tests/page/test_security.py.
"""
