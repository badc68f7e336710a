"""trainer.kubeflow.org/v1alpha1: a TrainJob and its runtime become a JobSet.

`render.py` is the pure way from both to the wanted objects, through one `Model` that the plugins change in turn; `plan.py`
decides what of it is written and what the status says. A further framework is a module in `plugins/` and a line in its table.
"""
