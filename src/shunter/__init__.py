"""Shunter runs, migrates and diagnoses distributed training jobs on Kubernetes.

A map of its packages is in docs/architecture.md. Here are what all of them use:

__main__.py        the entry point of the command
errors.py          the errors that a user may see, and their exit codes
missing_file.py    a file that the user names and that is not there
did_you_mean.py    "Did you mean ...?" for a word that is not known
file_locks.py      files that a process locks for as long as it lives
disk.py            what must be on disk before the next step: files replaced whole, and synced
lazy_names.py      names of a package that are imported when they are first asked for
argument_types.py  arguments from Python, held to their annotations
cancelling.py      the end of tasks that are no longer wanted

Tests: beside tests/test_wording.py, a file a module; errors in those of who raises them, disk in those of who writes,
tests/cluster/apiserver/storage and tests/migrate/moving/backup.
"""

__version__ = "0.1.0"
try:
    from shunter._version import version  # in wheels only: scripts/source_version.py
except ModuleNotFoundError:
    pass
else:
    __version__ = version
