"""Fine-tuning with torchtune through a torch runtime: which models and settings go together (Kubeflow Trainer v2.3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from shunter.api.field_errors import FieldError, invalid
from shunter.api.formats.quantity import canonical_resource
from shunter.api.meta import Json
from shunter.api.trainer.trainjob import Trainer, TrainJob

COMMAND = ("tune", "run")
"""A job with exactly this command is torchtune's; anything longer or shorter is an ordinary torch job."""

LLAMA_3_2_1B = "llama3_2/1B"
LLAMA_3_2_3B = "llama3_2/3B"
LLAMA_3_3_70B = "llama3_3/70B"
QWEN_2_5_1_5B = "qwen2_5/1.5B"
MODELS = (LLAMA_3_2_1B, LLAMA_3_2_3B, LLAMA_3_3_70B, QWEN_2_5_1_5B)

MANAGED_SETTINGS = ("output_dir", "tokenizer.path", "checkpointer.checkpoint_dir", "tokenizer.merges_file")
"""Settings that the runtime's command carries and a job must not change."""

Method = Literal["full", "lora", "qlora"]


def model_name(runtime_name: str) -> str:
    """`llama3_2/1B` for a runtime called `torchtune-llama3.2-1b`; empty when the name has not three parts."""
    parts = runtime_name.split("-")
    return f"{parts[1].replace('.', '_')}/{parts[2].upper()}" if len(parts) == 3 else ""


def fine_tuning_method(args: Sequence[str]) -> Method:
    """How the arguments ask to fine-tune; DoRA counts as LoRA."""
    if any(_is_switched_on(arg, "model.quantize_base") for arg in args) and not any(
        _is_switched_on(arg, "model.use_dora") for arg in args
    ):
        return "qlora"
    return "lora" if any("model.lora_attn_modules" in arg for arg in args) else "full"


def errors(job: TrainJob, *, gpus: int) -> list[FieldError]:
    """What admission refuses in a torchtune job. `gpus` are those of one node: the job's resources, else the runtime's."""
    trainer, runtime = job.spec.trainer, job.spec.runtime_ref.name
    if trainer is None or trainer.command != COMMAND:
        return []
    model = model_name(runtime)
    found = []
    if model not in MODELS:
        detail = f"must have a supported pretrained model, invalid model configured: {model}"
        found.append(invalid("spec.runtimeRef.name", runtime, detail))
    return [*found, *_node_errors(trainer, model), *_qlora_errors(trainer, runtime, model, gpus), *_setting_errors(trainer)]


def _node_errors(trainer: Trainer, model: str) -> list[FieldError]:
    field, nodes = "spec.trainer.numNodes", trainer.num_nodes
    if nodes is None or nodes <= 1:
        return []
    found = []
    if model in MODELS and model != LLAMA_3_3_70B:
        found.append(invalid(field, nodes, f"must be 1 for {model} model"))
    if fine_tuning_method(trainer.args or ()) != "full":
        found.append(invalid(field, nodes, "LoRA fine-tuning is not supported for multi-node training in TorchTune"))
    return found


def _qlora_errors(trainer: Trainer, runtime: str, model: str, gpus: int) -> list[FieldError]:
    if fine_tuning_method(trainer.args or ()) != "qlora":
        return []
    if model == QWEN_2_5_1_5B:
        # No number of processes would help.
        return [invalid("spec.runtimeRef.name", runtime, f"QLoRA is not supported for {model} model")]
    processes = trainer.num_proc_per_node
    if model not in MODELS or model == LLAMA_3_3_70B or processes == 1 or gpus == 1:
        return []
    shown_processes = "auto" if processes is None else processes
    when = f"for {model} model when using QLoRA"
    return [
        invalid("spec.trainer.numProcPerNode", shown_processes, f"must be auto or 1 {when}"),
        invalid(
            "spec.trainer.resourcesPerNode",
            _shown_resources(trainer.resources_per_node),
            f"must have gpu resource with value 1 {when}",
        ),
    ]


def _setting_errors(trainer: Trainer) -> list[FieldError]:
    found = []
    for index, arg in enumerate(trainer.args or ()):
        key = arg.partition("=")[0]
        if key in MANAGED_SETTINGS:
            detail = f'must not set immutable config "{key}" in trainer args; it is managed by the runtime'
            found.append(invalid(f"spec.trainer.args[{index}]", arg, detail))
    return found


def _is_switched_on(arg: str, setting: str) -> bool:
    key, _, value = arg.partition("=")
    return setting in key and value.strip().lower() == "true"


def _shown_resources(resources: Json | None) -> Json | None:
    """Quantities as Go prints them; a job without resources shows null."""
    if resources is None:
        return None
    return {
        field: {name: canonical_resource(quantity) for name, quantity in amounts.items()}
        for field, amounts in resources.items()
        if field in ("limits", "requests")
    }
