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

RECORDED = yaml.load((Path(__file__).parents[1] / "recordings" / "trainjob-admission.yaml").read_text(), yaml.CSafeLoader)


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
    errors: list[FieldError] = [
        *validation.initializer_errors(job, template),
        *validation.patch_errors(job, job.spec.runtime_patches),
    ]
    if "old" in case:
        errors += validation.patch_change_errors(job, train_job(case["old"]), ())
    if policy and policy.torch:
        errors += validation.reserved_environment_errors(job, torch_validation.TORCHRUN_ENVIRONMENT)
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
    found = refusal(case)
    said = joined(found) if found else ""
    assert said.replace("\\u003ctime\\u003e", "<time>") == case.get("refused", ""), "the recording's <time> stands for a real one"
    assert warnings(case) == case.get("warnings", [])


def patched(replicated_jobs: list[Any], *, suspend: bool = False) -> TrainJob:
    template = {"spec": {"replicatedJobs": replicated_jobs}}
    patches = [{"manager": "acme.io/m", "trainingRuntimeSpec": {"template": template}}]
    return train_job({"spec": {"runtimeRef": {"name": "rt"}, "suspend": suspend, "runtimePatches": patches}})


def replicated_job(name: str, **pod_spec: Any) -> dict[str, Any]:
    return {"name": name, "template": {"spec": {"template": {"spec": pod_spec}}}}


TEMPLATE = {
    "spec": {"replicatedJobs": [replicated_job("node", containers=[{"name": "node"}], initContainers=[{"name": "fetch"}])]}
}


@pytest.mark.parametrize(
    ("patch", "faults"),
    [
        (replicated_job("node", containers=[{"name": "node"}]), []),
        (replicated_job("node", containers=[{"name": "fetch"}], initContainers=[{"name": "node"}]), []),
        (replicated_job("ghost"), ["must not have replicated job that doesn't exist in the runtime job template"]),
        (
            replicated_job("node", containers=[{"name": "ghost"}]),
            ["must not have container that doesn't exist in the runtime job node"],
        ),
        (
            replicated_job("node", containers=[{"name": "ghost"}], initContainers=[{"name": "ghost"}]),
            [
                "must not have initContainer that doesn't exist in the runtime job node",
                "must not have container that doesn't exist in the runtime job node",
            ],
        ),
    ],
    ids=["known", "container and init container swapped", "unknown job", "unknown container", "unknown init container too"],
)
def test_patches_reach_only_what_the_runtime_has(patch: dict[str, Any], faults: list[str]) -> None:
    job = patched([patch])
    errors = validation.patch_target_errors(job, job.spec.runtime_patches, TEMPLATE)
    assert [error.body.rpartition("]: ")[2] for error in errors] == faults


@pytest.mark.parametrize(
    ("was_suspended", "is_suspended", "active", "refusal"),
    [
        (False, False, (), "RuntimePatches can only be modified when the TrainJob is suspended before or after the update"),
        (True, False, (), ""),
        (False, True, (), ""),
        (True, True, ("node",), "RuntimePatches cannot be modified when the JobSet's ReplicatedJob node is still active"),
    ],
    ids=["while running", "on resume", "on suspend", "while pods still stop"],
)
def test_patches_change_only_while_nothing_runs(
    was_suspended: bool, is_suspended: bool, active: tuple[str, ...], refusal: str
) -> None:
    before, after = patched([], suspend=was_suspended), patched([replicated_job("node")], suspend=is_suspended)
    errors = validation.patch_change_errors(after, before, active)
    assert [str(error) for error in errors] == ([f"spec.runtimePatches: Forbidden: {refusal}"] if refusal else [])


def test_unchanged_patches_pass_while_the_job_runs() -> None:
    job = patched([replicated_job("node")])
    assert validation.patch_change_errors(job, job, ("node",)) == []


def test_a_missing_initializer_volume_is_found_through_nulls() -> None:
    job = train_job({"spec": {"runtimeRef": {"name": "rt"}, "initializer": {"dataset": {}}}})
    template = {"spec": {"replicatedJobs": [replicated_job("dataset-initializer", containers=None)]}}
    (error,) = validation.initializer_errors(job, template)
    assert error.body.endswith("must have container with name - dataset-initializer in the dataset-initializer job")
