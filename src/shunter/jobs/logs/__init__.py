"""Reads the logs of training processes.

metrics.py, patterns.py    metrics with steps and ranks, speed; how trainers print them
progress.py                steps and time left; checkpoints.py: the newest saved checkpoint
network.py                 the network that NCCL chose
reading.py                 reads the logs of a job's ranks
visible_text.py            without colours and control characters

Tests: tests/jobs/logs; patterns.py in test_metrics.py and test_progress.py there.
"""
