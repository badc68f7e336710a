"""kubeflow.org/v1: one engine, and a module per framework."""
