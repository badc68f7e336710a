"""Fetch a dataset or a model into a directory before training begins: the program of initializer containers.

    python -m shunter.initializers dataset|model [DIRECTORY]

What to fetch and as whom is told by the environment, as Kubeflow Trainer's initializers are told. What is there already is
not fetched again, what was begun is resumed, every file is checked. Needs nothing of the cluster and, but for the errors, no
other room of this package.

Tests: tests/initializers; `files` in test_local.py, what is unfinished on disk (`.shunter-initializer`) in test_fetching.py.
"""
