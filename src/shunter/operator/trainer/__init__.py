"""trainer.kubeflow.org/v1alpha1: a TrainJob and its runtime become a JobSet.

`render.py` is the pure way from both to the wanted objects, through one `Model` that the plugins change in turn; `plan.py`
decides what of it is written and what the status says. A further framework is a module in `plugins/` and a line in its table.
`reconciler.py` reads the caches for it, and takes off the finalizer that earlier versions of upstream's Trainer put on runtimes.

Tests: tests/operator/trainer; lives as upstream's Trainer was recorded to live them in tests/recordings/v2 (test_recordings.py).
"""
