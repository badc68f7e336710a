"""Names of the webhook configurations that the operator registers; those of upstream's operators have the same."""

from __future__ import annotations

V1_VALIDATOR = "validator.training-operator.kubeflow.org"
TRAINER_VALIDATOR = "validator.trainer.kubeflow.org"
TRAINER_DEFAULTER = "defaulter.trainer.kubeflow.org"
VALIDATORS = (TRAINER_VALIDATOR, V1_VALIDATOR)
