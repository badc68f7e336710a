"""The controllers of CertificateSigningRequests: which are approved without anybody's decision, signed, and removed.

signers.py       what a signer of kubernetes.io wants a request to be
plan.py          one look at a request: the certificate, or why there is none, or its removal
approval.py      requests of kubelets for their own client certificates, approved by the rights of who made them
controller.py    the I/O layer
views.py         what they read of requests

Source: k8s.io/kubernetes 1.36 `pkg/controller/certificates` (signer, approver, cleaner).

Tests: tests/cluster/controllers/certificates; on a cluster in tests/e2e/test_certificates.py; approval.py, signers.py, views.py
and what controller.py asks in test_plan.py there.
"""
