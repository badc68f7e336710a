"""Runs of jobs: what was observed of one, whether two trained the same, and trial runs of converted jobs.

    job + pods + logs + metric sources --observation--> Run --comparison--> Comparison        all of it pure
    conversion --trial--> objects of a trial run

record.py          a run as a value, also in a file: the baseline; observation.py: made of a job, its pods and logs
sources.py, mlflow.py, tensorboard.py, reading.py    where metrics come from: `--metrics`; MLflow; event files; the cluster
comparison.py      which aspects are equal, within tolerance or different, and the verdict; its exit code:
                   cli/migrate/comparison_output.py
learning.py        which metrics of two runs are paired; integrity.py: whether processes trained together
trial.py, converted_trial.py, trial_labels.py    a trial's objects: name, limits, labels
program.py         flags and variables of a trial's program
headroom.py, outputs.py, refusals.py      refused: no room; outputs that both runs would write
deploying.py       makes and removes a trial; smoke.py: the stage `smoke`, on the embedded cluster

I/O is in `reading`, `deploying` and `smoke` (a Kubernetes API server), `mlflow` (a tracking server) and `tensorboard` (files).
Tests: tests/migrate/moving/runs; learning.py in test_comparison.py there, program.py in test_trial.py; reading.py in
tests/migrate/use_cases/test_compare.py, refusals.py in tests/cli/migrate/test_runs.py, trial_labels.py in test_trial.py.
"""
