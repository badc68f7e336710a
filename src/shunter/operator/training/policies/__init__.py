"""The fields of runPolicy and restartPolicy, and elastic jobs that shrink: a module per field.

restart.py       restartPolicy, ExitCode with it: which failed pods are replaced, also one that is being deleted; which
                 ends of pods are new (ExitedWithCode)
backoff.py       backoffLimit
deadline.py      activeDeadlineSeconds
ttl.py           ttlSecondsAfterFinished
clean_pods.py    cleanPodPolicy
suspend.py       suspend
scale_in.py      pods beyond the number of replicas

Tests: tests/operator/training/policies; which ends are new in tests/operator/training/test_failures.py.
"""
