"""trainer.kubeflow.org/v1alpha1: a TrainJob and its runtime become a JobSet.

render.py                   from both to the desired objects, through one `Model` (model.py) that the plugins change in turn
plugins/, plugin.py         what a framework or a gang scheduler adds: a module each, and a line in the table there; the phases
rendezvous.py               numNodes, address and port at which processes meet, shared by frameworks
plan.py                     what is written of it, and the status; reconciler.py reads the caches (views.py) for it
resumption.py, stored_lists.py    a suspended JobSet that goes on, or is made anew
deadline.py, ttl.py         activeDeadlineSeconds; a failed job whose JobSet is gone
snapshot.py                 the runtime as it was when the job first met it
runtime_spec.py             runtimes, snapshots and patches of a wrong shape are refused with the field
status.py, obstacles.py     conditions; why objects cannot be made (Created=False)
failures.py, failed_pods.py what failed in its pods, those that were replaced included
admission.py                the webhooks: whether the runtime is there; texts and other refusals are in api/trainer and plugins/
go_types.py                 wrong types in a TrainJob, in the words of Go's decoder
statusserver/               what programs report of their progress; metrics.py: counters of jobs
runtime_patches.py          runtimePatches, merged into the runtime's template; go_encoding.py: which empty or false values of a
                            patch count (readOnly, serviceAccountName, storageClassName)
resources.py, upserts.py    GPUs and CPUs of a node; lists of containers
controllers.py              which changes wake a job; pods are read once a second, and at once when one has failed

Tests: tests/operator/trainer; runtime_spec.py, and what is not written of a job that cannot be built, in test_obstacles.py
there, controllers.py (wakes, and pods read at once) in tests/operator/test_watch_triggers.py; changes that the CRD refuses
(numNodes of a running TrainJob) in tests/api/crds/test_generator.py; lifecycles, as upstream's Trainer was recorded, in
tests/recordings/v2 (test_recordings.py); model.py and plugin.py in test_render.py, views.py in test_resumption.py and
test_failures.py, reconciler.py by test_recordings.py in tests/operator.
"""
