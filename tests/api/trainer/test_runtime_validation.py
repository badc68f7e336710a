"""Training runtimes, against what Kubeflow Trainer v2.3 answered on a real API server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from shunter.api.field_errors import aggregate
from shunter.api.trainer import runtime_validation
from shunter.api.trainer.runtime import ClusterTrainingRuntime, TrainingRuntime

RECORDED = yaml.load((Path(__file__).parents[1] / "recordings" / "runtime-admission.yaml").read_text(), yaml.CSafeLoader)


@pytest.mark.parametrize("case", RECORDED, ids=[case["case"] for case in RECORDED])
def test_admission_answers_as_trainer_did(case: dict[str, Any]) -> None:
    is_cluster_wide, is_update = case["object"]["kind"] == "ClusterTrainingRuntime", "old" in case
    runtime = msgspec.convert(case["object"], ClusterTrainingRuntime if is_cluster_wide else TrainingRuntime)
    errors = runtime_validation.errors(runtime) if is_cluster_wide or not is_update else []
    warnings = runtime_validation.creation_warnings(runtime.metadata) if is_cluster_wide and not is_update else []
    assert (aggregate(errors) if errors else "") == case.get("refused", "")
    assert warnings == case.get("warnings", [])


@pytest.mark.parametrize("spec", [{}, {"template": {}}, {"template": {"spec": None}}], ids=["no template", "empty", "null"])
def test_a_runtime_without_jobs_has_no_faults(spec: dict[str, Any]) -> None:
    assert runtime_validation.errors(msgspec.convert({"spec": spec}, TrainingRuntime)) == []
