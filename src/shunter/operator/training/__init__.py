"""kubeflow.org/v1: one engine for all job kinds, a module per framework.

plan.py                     the life of a job, in the order of its rules; reconciler.py reads the caches for it
frameworks/                 variables of the pods of a kind, when its job has succeeded or failed; framework.py: the interface
messages of failed pods     "KIND NAME is restarting because 1 Worker ..." in framework.py, which all kinds but TFJob use;
                            before it "job NAME is restarting because Worker ..." in replica_sync.py
policies/                   the fields of runPolicy and restartPolicy, and elastic jobs that shrink: a module per field
replica_sync.py             pods and services of all kinds but MPIJob, and the deletion of failed pods (whether one is replaced
                            or fails the job: policies/restart.py); mpi/: those of MPIJobs;
                            also: a job whose name is too long for its services fails; TooManyReplicas of a running job
job.py                      what jobs of all kinds are turned into
replicas.py, services.py    a pod and a service as they are written; init_template.py: init containers of Workers
names.py, ports.py          names and labels; the port at which pods meet
children.py, observed.py    which pods and services are a job's, and adopted; what a plan sees
status.py, conditions.py    counters of roles, and the conditions; progress.py: both while a plan is made, and conditions that
                            differ only in their times, which keep them
failures.py, failure_record.py    what failed: as events (ExitedWithCode), and in the status; which ends are new, and the text,
                            are decided in policies/restart.py, by the order in operator/ended_pods.py
pod_warnings.py             events about pods with problems
gang.py, autoscaler.py      PodGroup and HorizontalPodAutoscaler; prerequisites.py: what a job says while these are refused
admission.py                the webhooks: what they refuse is in api/training
metrics.py                  counters of jobs; writes.py: events of writes; controllers.py: which changes wake a job

Shared code never asks which kind it has: it asks the `Framework`. A further kind is a module in `frameworks/`.

Tests: tests/operator/training; names that are too long in test_kinds.py, prerequisites.py in test_gang.py and
test_autoscaler.py there, which ends are new (ExitedWithCode) in test_failures.py, controllers.py in
tests/operator/test_watch_triggers.py; lifecycles of jobs, as upstream's Training Operator was recorded, in tests/recordings/v1;
children.py, observed.py, job.py and writes.py in test_plan.py, failure_record.py in test_failures.py, framework.py in
test_replica_sync.py, progress.py in test_status.py, ports.py in tests/operator/training/frameworks, reconciler.py in
tests/operator/test_watch_triggers.py.
"""
