"""torchtune: which recipe and configuration a job gets, and what admission refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from shunter.api.meta import Json
from shunter.operator.trainer.render import jobset_for
from shunter.operator.trainer.runtimes import shipped

Make = Callable[..., Any]
RUNTIMES = {runtime["metadata"]["name"]: runtime for runtime in shipped()}
LLAMA, QWEN = "torchtune-llama3.2-1b", "torchtune-qwen2.5-1.5b"
LORA, QLORA = ["model.lora_attn_modules=[q_proj]"], ["model.quantize_base=True"]
ENDPOINT = "--rdzv_endpoint=mnist-node-0-0.mnist:29500"


def runtime(name: str, *, gpus: int = 2) -> Json:
    """A shipped runtime under another name: the model is told from it."""
    spec = RUNTIMES[QWEN if "qwen" in name else LLAMA]["spec"]
    jobs = [job for job in spec["template"]["spec"]["replicatedJobs"] if job["name"] == "node"]
    (container,) = jobs[0]["template"]["spec"]["template"]["spec"]["containers"]
    pod = {"containers": [{**container, "resources": {"limits": {"nvidia.com/gpu": gpus}} if gpus else {}}]}
    job = {"name": "node", "template": {**jobs[0]["template"], "spec": {"template": {"spec": pod}}}}
    return {
        "kind": "ClusterTrainingRuntime",
        "metadata": {"name": name},
        "spec": {"mlPolicy": spec["mlPolicy"], "template": {"spec": {"replicatedJobs": [job]}}},
    }


@pytest.mark.parametrize(
    ("trainer", "gpus", "command"),
    [
        pytest.param({"args": QLORA}, 1, ["lora_finetune_single_device", "_qlora_single_device"], id="QLoRA on one device"),
        pytest.param({"args": LORA}, 1, ["lora_finetune_single_device", "_lora_single_device"], id="LoRA on one device"),
        pytest.param({}, 1, ["full_finetune_single_device", "_full_single_device"], id="all weights on one device"),
        pytest.param({"args": QLORA}, 2, [ENDPOINT, "lora_finetune_distributed", "_qlora"], id="QLoRA on several"),
        pytest.param({"args": LORA}, 2, [ENDPOINT, "lora_finetune_distributed", "_lora"], id="LoRA on several"),
        pytest.param({"numNodes": 2}, 2, [ENDPOINT, "full_finetune_distributed", "_full_multinode"], id="several nodes"),
        pytest.param({}, 2, [ENDPOINT, "full_finetune_distributed", "_full"], id="all weights on several"),
        pytest.param({"numProcPerNode": 1}, 4, ["full_finetune_single_device", "_full_single_device"], id="one process"),
        pytest.param({"numProcPerNode": 2}, 0, [ENDPOINT, "full_finetune_distributed", "_full"], id="two processes"),
    ],
)
def test_the_command_is_completed(make_trainjob: Make, trainer: Json, gpus: int, command: list[str]) -> None:
    job = make_trainjob(runtimeRef={"name": LLAMA}, trainer={"command": ["tune", "run"], **trainer})
    (made,) = jobset_for(job, runtime(LLAMA, gpus=gpus))["spec"]["replicatedJobs"]
    (container,) = made["template"]["spec"]["template"]["spec"]["containers"]
    *before, recipe, suffix = command
    kept = [
        "output_dir=/workspace/output",
        "tokenizer.path=/workspace/model/original/tokenizer.model",
        "checkpointer.checkpoint_dir=/workspace/model",
    ]
    assert container["command"] == ["tune", "run", *before, recipe, "--config", f"llama3_2/1B{suffix}", *kept]
    assert "PET_MASTER_ADDR" not in [variable["name"] for variable in container["env"]]


WHEN = "for llama3_2/1B model when using QLoRA"
QLORA_DEVICE = [
    f'spec.trainer.numProcPerNode: Invalid value: "auto": must be auto or 1 {WHEN}',
    f"spec.trainer.resourcesPerNode: Invalid value: null: must have gpu resource with value 1 {WHEN}",
]
NO_MODEL = 'spec.runtimeRef.name: Invalid value: "{}": must have a supported pretrained model, invalid model configured: {}'
MANAGED = (
    'spec.trainer.args[1]: Invalid value: "{0}=x": must not set immutable config "{0}" in trainer args; '
    "it is managed by the runtime"
)


@pytest.mark.parametrize(
    ("name", "trainer", "wanted"),
    [
        pytest.param(LLAMA, {}, [], id="good"),
        pytest.param(
            "torchtune-gpt-2",
            {},
            [NO_MODEL.format("torchtune-gpt-2", "gpt/2")],
            id="an unknown model",
        ),
        pytest.param(
            "torchtune",
            {},
            [NO_MODEL.format("torchtune", "")],
            id="no model",
        ),
        pytest.param(
            LLAMA,
            {"numNodes": 2},
            ["spec.trainer.numNodes: Invalid value: 2: must be 1 for llama3_2/1B model"],
            id="several nodes",
        ),
        pytest.param(
            "torchtune-gpt-2",
            {"numNodes": 2, "args": [*LORA, "output_dir=x"]},
            [
                NO_MODEL.format("torchtune-gpt-2", "gpt/2"),
                "spec.trainer.numNodes: Invalid value: 2: LoRA fine-tuning is not supported for multi-node training in TorchTune",
                MANAGED.format("output_dir"),
            ],
            id="all that is wrong at once",
        ),
        pytest.param("torchtune-llama3.3-70b", {"numNodes": 2}, [], id="several nodes for the largest"),
        pytest.param(
            "torchtune-llama3.3-70b",
            {"numNodes": 2, "args": LORA},
            ["spec.trainer.numNodes: Invalid value: 2: LoRA fine-tuning is not supported for multi-node training in TorchTune"],
            id="LoRA on several nodes",
        ),
        pytest.param(LLAMA, {"args": QLORA}, QLORA_DEVICE, id="QLoRA on several devices"),
        pytest.param(
            QWEN,
            {"args": QLORA},
            [f'spec.runtimeRef.name: Invalid value: "{QWEN}": QLoRA is not supported for qwen2_5/1.5B model'],
            id="QLoRA of a model that has none",
        ),
        *(
            pytest.param(
                LLAMA,
                {"args": ["epochs=1", f"{setting}=x"]},
                [MANAGED.format(setting)],
                id=setting,
            )
            for setting in ("output_dir", "tokenizer.path", "checkpointer.checkpoint_dir", "tokenizer.merges_file")
        ),
    ],
)
def test_what_admission_refuses(make_trainjob: Make, refusals: Make, name: str, trainer: Json, wanted: list[str]) -> None:
    job = make_trainjob(runtimeRef={"name": name}, trainer={"command": ["tune", "run"], **trainer})
    assert refusals(job, runtime(name)) == wanted


@pytest.mark.parametrize("command", [["tune"], ["tune", "run", "x"], ["tune", "ls"], None])
def test_any_other_command_is_an_ordinary_torch_job(make_trainjob: Make, refusals: Make, command: list[str] | None) -> None:
    trainer = {"numNodes": 2, "args": ["output_dir=x"], **({"command": command} if command else {})}
    assert refusals(make_trainjob(runtimeRef={"name": "anything"}, trainer=trainer), runtime("anything")) == []
