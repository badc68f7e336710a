"""What pods a job gets and what its status says, for both generations of the training API.

Never imports shunter.cluster: the operator must not know what kind of cluster it is on.

rank_failures.py    which ends of pods are failures of ranks
deleted_pods.py     when deleted pods were told to end: what is no failure
ended_pods.py       which pods ended first
training/           kubeflow.org/v1
trainer/            trainer.kubeflow.org

Tests: tests/operator; failures of deleted pods in training/test_failures.py and trainer/test_failures.py below it.
"""
