"""Logs of containers, and commands in them."""
