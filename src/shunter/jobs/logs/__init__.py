"""Reads the logs of training processes.

metrics.py                 metrics with steps and ranks, speed
progress.py                steps and time left; checkpoints.py: the newest saved checkpoint
network.py                 the network that NCCL chose
reading.py                 reads the logs of a job's ranks
visible_text.py            without colours and control characters

How trainers print them: operator/program_logs/patterns.py.

Tests: tests/jobs/logs; reading.py in tests/jobs/test_job_view.py, network.py in tests/doctor/test_recorder.py.
"""
