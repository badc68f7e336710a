"""Copies of jobs from which they can be made again: clean, one file an object, checked by the server, and never with a Secret.

saving.py       what is read, cleaned, checked by a dry run and written
index.py        the objects of a backup, states and hashes: a file that changed since is noticed
restoring.py    what is created again and what is not: finished trainings, objects that are there

Tests: tests/migrate/moving/backup.
"""
