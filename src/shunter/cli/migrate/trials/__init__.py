"""What `migrate test` makes and removes, and the trial of a file.

objects.py    the objects of a trial, made and removed with a word to the user
of_file.py    `migrate test FILE`: a TrainJob as it stands in its file

Tests: tests/migrate/moving/runs.
"""
