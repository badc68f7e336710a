"""trainer.kubeflow.org/v1alpha1: a TrainJob and its runtime become a JobSet.

render.py                   from both to the wanted objects, through one `Model` that the plugins change in turn
plugins/                    what a framework or a gang scheduler adds: a module each, and a line in the table there
plan.py                     what is written of it, and the status; reconciler.py reads the caches for it
resumption.py, stored_lists.py    a suspended JobSet that goes on, or is made anew
deadline.py, ttl.py         activeDeadlineSeconds; a failed job whose JobSet is gone
snapshot.py                 the runtime as it was when the job first met it
status.py, obstacles.py     conditions; why objects cannot be made (Created=False)
failures.py, failed_pods.py what failed in its pods
admission.py                the webhooks: whether the runtime is there; other refusals are in api/trainer and plugins/
statusserver/               what programs report of their progress
resources.py, strategic_merge.py, upserts.py    GPUs and CPUs of a node; runtimePatches; lists of containers

Tests: tests/operator/trainer; lives as upstream's Trainer was recorded to live them in tests/recordings/v2 (test_recordings.py).
"""
