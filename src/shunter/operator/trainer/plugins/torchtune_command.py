"""The command of a torchtune job: `tune run` completed with recipe, configuration and the runtime's own settings."""

from __future__ import annotations

from collections.abc import Sequence

from shunter.api.trainer.torchtune import MANAGED_SETTINGS, Method, fine_tuning_method, model_name
from shunter.api.trainer.trainjob import TrainJob


def completed_command(
    job: TrainJob, runtime_command: Sequence[str], *, nodes: int, processes: str, gpus: int, endpoint: str
) -> list[str]:
    """`processes` is PET_NPROC_PER_NODE, `gpus` those of one node, `endpoint` HOST:PORT where several processes meet.

    The job's arguments stay as they are; of the runtime's command only the settings stay that a job must not change.
    """
    trainer = job.spec.trainer
    method = fine_tuning_method((trainer.args if trainer else None) or ())
    is_single_device = nodes == 1 and (processes == "1" or gpus == 1)
    meets = nodes > 1 or (gpus > 1 if processes == "auto" else int(processes) > 1)
    recipe, suffix = recipe_and_suffix(method, nodes=nodes, is_single_device=is_single_device)
    kept = [word for word in runtime_command if word.partition("=")[0] in MANAGED_SETTINGS and "=" in word]
    return [
        "tune",
        "run",
        *([f"--rdzv_endpoint={endpoint}"] if meets else []),
        recipe,
        "--config",
        f"{model_name(job.spec.runtime_ref.name)}{suffix}",
        *kept,
    ]


def recipe_and_suffix(method: Method, *, nodes: int, is_single_device: bool) -> tuple[str, str]:
    """torchtune's recipe, and what the name of its configuration ends with."""
    if nodes > 1:
        return "full_finetune_distributed", "_full_multinode"
    kind = "full" if method == "full" else "lora"
    if is_single_device:
        return f"{kind}_finetune_single_device", f"_{method}_single_device"
    return f"{kind}_finetune_distributed", f"_{method}"
