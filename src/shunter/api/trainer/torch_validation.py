"""What admission refuses in TrainJobs of a torch runtime (Kubeflow Trainer v2.3, torch plugin)."""

from __future__ import annotations

from shunter.api.field_errors import FieldError, invalid
from shunter.api.meta import Json
from shunter.api.trainer import template as templates
from shunter.api.trainer.runtime import EnvInjectionTarget, TorchPolicy

TORCHRUN_ENVIRONMENT = ("PET_NNODES", "PET_NPROC_PER_NODE", "PET_NODE_RANK", "PET_MASTER_ADDR", "PET_MASTER_PORT")
"""What the plugin sets, so what users must not."""


def injection_errors(policy: TorchPolicy, template: Json) -> list[FieldError]:
    """Targets of `envInjection` that the template, with the job's patches merged, does not have."""
    targets = policy.env_injection.targets if policy.env_injection else ()
    return [
        invalid(
            "spec.runtimeRef",
            {"jobName": target.job_name, "containerNames": list(target.container_names)},
            f'envInjection target podSet "{target.job_name}" container "{name}" not found in runtime template',
        )
        for target in targets
        for name in _missing_containers(target, template)
    ]


def _missing_containers(target: EnvInjectionTarget, template: Json) -> list[str]:
    replicated_job = templates.replicated_job(template, target.job_name)
    known = templates.container_names(replicated_job) if replicated_job else set()
    return [name for name in target.container_names if name not in known]
