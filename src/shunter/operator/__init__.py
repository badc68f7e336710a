"""What pods a job gets and what its status says, for both generations of the training API.

Never imports shunter.cluster: the operator must not know what kind of cluster it is on.

training/, trainer/    kubeflow.org/v1; trainer.kubeflow.org
causes/                why a job does not train, from what is seen of it
rank_failures.py       which ends of pods are failures of ranks, and the record of them (`rankFailures`)
deleted_pods.py        when pods were deleted: what ended because of that is no failure
ended_pods.py          which pods ended first; diagnosis.py: what went wrong, in whose words, and which failures only follow
                       another (a lost peer, SIGTERM)
pod_places.py          the place of each pod in its job, and its rank
overview.py            state, ranks and times of a job of any kind in one row; native_jobs.py: the same of Indexed Jobs
training_progress.py   steps, time left and warnings of what a program reported; restarts.py: how often all pods were recreated
suspension.py          how a job is suspended or resumed; interrupted_scaling.py: one that `scale` left suspended
                       (what `jobs` says of it, ScaleInterrupted, is in causes/job.py)
program_logs/          what programs write, and which line says why they ended; needs.py: what they need of an image;
                       remedies.py: what to do about errors that say themselves what is wrong
config.py, kinds.py    the file of `--config`; the kinds that are served
permissions.py         what the operator may do: the one source of its roles
process.py             the process, `__main__.py` that of an embedded cluster; job_gauge.py: metrics of jobs by state
webhooks.py, registrar.py    whether webhooks are served, registered, trusted and reached; webhook_names.py

Tests: tests/operator; which failures only follow another in tests/jobs/test_failures.py; permissions.py in
tests/conformance/test_permissions.py; deleted_pods.py in training/test_failures.py and trainer/test_failed_pods.py below
tests/operator; webhook_names.py in trainer/test_admission.py.
"""
