"""kubeflow.org/v1 types, a module per kind. Tests: tests/api/test_job_kinds_rules.py, tests/api/test_pytorch_rules.py."""
