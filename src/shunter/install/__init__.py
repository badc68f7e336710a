"""Installing the operator: the objects of an installation, decided in one place, and applying them to a cluster.

values.py       what can be set (the chart's values)
template.py     objects with holes and conditions: filled in here, or written as a Helm chart by scripts/generate.py
manifests.py    the template of the installation, and `manifests(values)`
changes.py      pure: what is to be written, deleted, left alone
installing.py   thin: preflight, apply, prune, wait; uninstall

Tests: tests/install; preflight, waiting, removing and what was there before in test_installing.py.
"""
