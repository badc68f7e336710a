"""What programs write to their logs, and why they ended by that: the one reading of it for operator, commands and doctor.

lines.py       log lines: time, rank, text; the exceptions and aborts among them
ends.py        the line that says why a program ended
patterns.py    how common trainers print positions and metrics

Tests: tests/operator/program_logs; patterns.py in tests/jobs/logs, test_metrics.py and test_progress.py.
"""
