"""Every v1 job that there is, what class of work it is and why, and what all of them come to.

classes      the rules that decide: one function a rule
gpu_hours    what a job has used
releases     which Trainer its result needs
row          one row: small, so that ten thousand fit
collecting   rows from conversions, and page by page from a cluster
fleet        all rows together: counts, blockers, GPU-hours
forms/       the fleet as a table, CSV, JSON, Markdown, HTML

The owner of a job (its ownerReferences, Helm, Argo CD, Flux) is decided in api/ownership.py.

Tests: tests/migrate/survey/inventory; rows of a cluster in test_live.py there.
"""
