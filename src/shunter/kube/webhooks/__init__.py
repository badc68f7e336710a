"""Admission webhooks: the server, and its registration at an API server."""
