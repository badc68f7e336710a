"""Admission webhooks.

server.py            AdmissionReviews and their answers
registration.py      what is registered at an API server: URL or Service, authority, rules
canary.py            whether requests reach the webhooks
admission_wait.py    writes that wait for a webhook that does not answer yet

Tests: tests/kube/webhooks; registration.py in test_server.py there; admission_wait.py in tests/launch/test_applying.py.
"""
