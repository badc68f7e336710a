"""Certificates and TLS: making, sharing and renewing them.

certificates.py           authorities and serving certificates are made
serving_certificate.py    pure: when a shared certificate is renewed, trusted, served
certificate_secret.py     the Secret in which replicas share it; certificate_sources.py: files, or this process
serving_tls.py            what a process serves with, and files that are read again
certificate_user.py       the user of a client certificate
requests.py               certificate signing requests, and certificates made of them

Tests: tests/kube/tls; certificate_secret.py and certificate_sources.py in tests/operator/test_registrar.py, serving_tls.py in
tests/kube/webhooks/test_server.py.
"""
