"""What torchtune fine-tunes, and how it is asked to."""

from __future__ import annotations

import pytest

from shunter.api.trainer import torchtune


@pytest.mark.parametrize(
    ("args", "method"),
    [
        ([], "full"),
        (["model.lora_attn_modules=[q_proj]"], "lora"),
        (["model.quantize_base=True"], "qlora"),
        (["model.quantize_base=True", "model.use_dora=true", "model.lora_attn_modules=[q_proj]"], "lora"),
    ],
    ids=["plain", "LoRA", "QLoRA", "DoRA"],
)
def test_the_arguments_tell_the_fine_tuning_method(args: list[str], method: str) -> None:
    assert torchtune.fine_tuning_method(args) == method
