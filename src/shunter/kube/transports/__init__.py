"""Transports around a transport: limits on requests (`--kube-api-qps`) and counts of them, metadata only.

measured.py    a transport that keeps to a rate, and one that counts
metadata.py    a transport that asks for metadata only

Tests: tests/kube/transports; that the writes of controllers are limited in tests/kube/controllers/test_manager.py.
"""
