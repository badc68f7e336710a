"""The views of the page by the name that stands in `/api/live?view=NAME`.

view.py                     what a view is
jobs.py                     the list of jobs
job.py                      one job, with job_head.py, rank_rows.py (the rank strip), job_rows.py (verdicts, timeline, curves)
cluster.py, migration.py    nodes and queues; waves of a plan, or the inventory

Tests: tests/page/views; job_head.py, rank_rows.py and job_rows.py in test_job.py there; view.py in all of them.
"""
