"""Reads the protobuf bodies that Kubernetes clients in Go send for built-in kinds. Answers are JSON: clients accept both.

decode.py, wire.py, tables.py    bodies as JSON; fields; the messages of the kinds
swagger.py                       the OpenAPI v2 document, which kubectl asks for in protobuf

Tests: tests/cluster/apiserver/protobuf; swagger.py in tests/cluster/apiserver/test_discovery.py; tables.py in test_decode.py.
"""
