"""kubeflow.org/v1 types, a module per kind."""
