"""Rungs of the ladder that need a cluster or a run.

server.py    whether a cluster would accept the objects, by dry runs
runs.py      what comparisons of runs said
"""
