"""kubeflow.org/v1 types, a module per kind; the defaults of a kind, and what admission refuses, are in e.g. `pytorch_rules.py`."""
