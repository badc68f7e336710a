"""trainer.kubeflow.org/v1alpha1 types. Tests: tests/api/test_trainjob_validation.py, tests/api/test_runtime_validation.py."""
