"""The server that training programs report their progress to: requests in, at most one write per job and second out.

server.py           the answers and their limits, in order
tokens.py, pods.py  whether a token, and the pod that it belongs to, may report about a job
report.py           a body read as a report, or rejected; limits of its values are those of the CRD (api/trainer/trainjob.py)
writes.py           at most one write per job and second: the newest
place.py            URL and audience, on which server and plugin `trainjobstatus` agree; current_place.py: its certificate renewed
metrics.py          counts of reports

Tests: tests/operator/trainer/statusserver; place.py, and values that the CRD rejects, in test_server.py there; metrics.py in
tests/operator/test_process.py.
"""
