"""Local pictures of collections.

reflector.py       list, then watch: when it resumes, lists again, backs off; watch_events.py: what a watch says
store.py           objects by key, namespace or index
informer.py        a store with handlers for every difference; mapping.py: whom a change concerns
expectations.py    a key is not reconciled before the caches have seen its own writes

Tests: tests/kube/cache.
"""
