"""Shunter runs, moves and looks after distributed training jobs on Kubernetes."""

__version__ = "0.1.0"
try:
    from shunter._version import version  # in wheels only: scripts/source_version.py
except ModuleNotFoundError:
    pass
else:
    __version__ = version
