"""Transports around a transport: limits on requests (`--kube-api-qps`) and counts of them, metadata only.

Tests: tests/kube/transports; that the writes of controllers are limited in tests/kube/controllers/test_manager.py.
"""
