"""Shunter runs, moves and looks after distributed training jobs on Kubernetes."""

__version__ = "0.1.0"
