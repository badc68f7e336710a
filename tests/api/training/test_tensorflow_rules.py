"""What admission refuses of a TFJob alone, and warns of."""

from __future__ import annotations

from api.training.kind_rules import TF
from shunter.api.training import tensorflow_rules


def test_a_tfjob_may_have_other_roles_and_is_warned_of_them() -> None:
    job = TF.job({"Worker": TF.replica(), "worker": TF.replica(), "PS2": TF.replica()})
    assert TF.refused(job) == ""
    (warning,) = tensorflow_rules.warnings(job)
    assert warning.startswith("spec.tfReplicaSpecs[PS2]: no role of TensorFlow (Chief, Master, Worker, PS, Evaluator)")


def test_a_tfjob_has_a_chief_or_a_master() -> None:
    """Roles are counted as they are spelled, not their pods."""
    both = TF.job({"Chief": TF.replica(), "Master": TF.replica()})
    assert TF.refused(both) == "spec.tfReplicaSpecs: Forbidden: must not have more than 1 Chief or Master role"
    assert TF.refused(TF.job({"Chief": TF.replica(2)})) == ""
    assert TF.refused(TF.job({"chief": TF.replica(), "Master": TF.replica()})) == ""
