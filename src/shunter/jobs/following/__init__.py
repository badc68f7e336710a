"""Follows one job to its end: shows its logs, conditions and causes on a display, and reports how it ended.

follower.py          conditions, warning events and logs of all containers; which pods are deleted, and why
buffered_notes.py    notes stay out of the middle of a traceback
obstacle.py          what keeps it from training, once; last_pods.py: which pods tell why it failed
outcome.py           how it ended, in words
log_prefix.py        `[worker-1]` before a log line; pipe_display.py: standard output and error, without a terminal

Tests: tests/jobs/following; pods that are deleted, and jobs suspended, while they are followed in tests/e2e/test_stops.py;
causes of whole jobs in tests/e2e/test_causes.py; pipe_display.py in test_follower.py there.
"""
