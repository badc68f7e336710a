"""One check per module: `TOPIC`, `applies` and `faults`. Every module in this package is a check; there is no list of them.

A check uses facts only. A check that needs what may not be read is unknown, and names it.

v1_definitions.py, v1_webhooks.py, owners.py, helm_releases.py, mpi_operator.py    what is there of v1, and who creates it
v2_definitions.py, v2_release.py, trainer_webhooks.py, runtimes.py, jobset.py      what is there of v2 and JobSet
kubernetes_version.py, permissions.py, quotas.py, gangs.py, kueue.py               the cluster, and the user's rights
names.py, conversions.py                                                           names that are taken; results that may be used

Tests: the table of tests/migrate/moving/readiness/test_checks.py.
"""
