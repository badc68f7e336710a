"""Reads the protobuf bodies that Kubernetes clients in Go send for built-in kinds. Answers are JSON: clients accept both."""
