"""Logs of containers, and commands in them.

log_reading.py     a log, read once or followed across lost connections
log_lines.py, log_times.py    chunks as lines; the time before each
remote_command.py  exec over WebSocket

Tests: tests/kube/pods.
"""
