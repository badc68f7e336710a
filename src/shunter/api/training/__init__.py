"""kubeflow.org/v1 types, a module per kind; `pytorch_rules.py` and its like hold a kind's defaults and what admission refuses."""
