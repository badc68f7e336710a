"""TrainJobs of torch and plain runtimes, against what Kubeflow Trainer v2.3 answered on a real API server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from shunter.api.field_errors import FieldError
from shunter.api.meta import ObjectMeta
from shunter.api.trainer import runtime_validation, torch_validation, torchtune, validation
from shunter.api.trainer.runtime import TrainingRuntime
from shunter.api.trainer.trainjob import TrainJob

RECORDED = yaml.safe_load((Path(__file__).parent / "recordings" / "trainjob-admission.yaml").read_text())

TARGETS_ARE_REFUSED = {case["case"] for case in RECORDED if case["case"].startswith(("tjp-unknown-targets",))}
NEEDS_MERGED_PATCHES = {"init-dataset-rules: mount-by-patch", "init-model-rules: mount-by-patch"}


def train_job(obj: Any) -> TrainJob:
    return msgspec.convert(obj, TrainJob)


def gpus(case: dict[str, Any]) -> int:
    """GPUs of a node as the operator counts them: by the job's resources, else by the runtime's container."""
    trainer = (case["object"].get("spec") or {}).get("trainer") or {}
    jobs = case["runtime"]["spec"].get("template", {}).get("spec", {}).get("replicatedJobs", [])
    containers = jobs[0]["template"]["spec"]["template"]["spec"]["containers"] if jobs else []
    resources = trainer.get("resourcesPerNode") or (containers[0].get("resources") if containers else None) or {}
    return sum(int(n) for amounts in resources.values() for name, n in amounts.items() if "gpu" in name.lower())


def refusal(case: dict[str, Any]) -> list[str]:
    job = train_job(case["object"])
    if fault := validation.unsupported_runtime(job.spec.runtime_ref):
        return [fault]
    if "runtime" not in case:
        ref = job.spec.runtime_ref
        answer = f'{ref.kind}.{ref.api_group} "{ref.name}" not found'
        return [str(validation.missing_runtime_error(ref, answer))]
    runtime = msgspec.convert(case["runtime"], TrainingRuntime)
    template, policy = runtime.spec.template, runtime.spec.ml_policy
    errors: list[FieldError] = [*validation.initializer_errors(job, template), *validation.patch_errors(job)]
    if "old" in case:
        errors += validation.patch_change_errors(job, train_job(case["old"]), ())
    if policy and policy.torch:
        errors += torch_validation.reserved_environment_errors(job)
        errors += torch_validation.injection_errors(policy.torch, template)
        errors += torchtune.errors(job, gpus=gpus(case))
    return list(dict.fromkeys(str(error) for error in errors))


def joined(errors: list[str]) -> str:
    return errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]"


def warnings(case: dict[str, Any]) -> list[str]:
    runtime = case.get("runtime", {})
    if runtime.get("kind") != "ClusterTrainingRuntime":
        return []
    return runtime_validation.reference_warnings(msgspec.convert(runtime["metadata"], ObjectMeta))


@pytest.mark.parametrize("case", RECORDED, ids=[case["case"] for case in RECORDED])
def test_admission_answers_as_trainer_did(case: dict[str, Any]) -> None:
    if case["case"] in NEEDS_MERGED_PATCHES:
        pytest.skip("patches are merged by the operator")
    found = refusal(case)
    assert (joined(found) if found else "") == case.get("refused", "")
    assert warnings(case) == case.get("warnings", [])
