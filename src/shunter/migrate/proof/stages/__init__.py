"""Stages of the proof that need a cluster or a run.

server.py    whether a cluster accepts the objects, by dry runs
runs.py      the result of comparisons of runs
"""
