"""kubeflow.org/v1 types, a module per kind, and what is decided from a job alone.

pytorch.py, tensorflow.py, mpi.py, xgboost.py, jax.py, paddle.py
                                  the types of a kind, and `KIND`: its names, roles, container and port
pytorch_rules.py, tensorflow_rules.py, mpi_rules.py, xgboost_rules.py, jax_rules.py, paddle_rules.py
                                  what only this kind has: defaults, and what admission refuses or warns of
defaults.py                       defaults of all kinds: roles, replicas, restartPolicy, the port of the container, cleanPodPolicy
validation.py                     what admission refuses of all kinds: name, managedBy, containers, numbers of pods
job.py, job_kind.py, kinds.py     what jobs of all kinds have; what a kind is; the kinds that there are

Tests: tests/api/training; mpi_rules in tests/operator/training/frameworks/test_mpi.py and
tests/operator/training/test_admission_of_mpi.py; the types (jax.py, mpi.py, paddle.py, pytorch.py, tensorflow.py, xgboost.py)
and jax_rules.py in tests/operator/training/frameworks, a file a framework, job.py in test_defaults.py and test_validation.py,
job_kind.py and kinds.py in tests/operator/training/test_kinds.py.
"""
