"""Options of an estimate that a model refuses or completes."""

from __future__ import annotations

from typing import Any

import pytest

from shunter.errors import InputError
from shunter.sizing.model_options import LONGEST, completed
from shunter.sizing.options import SizeOptions
from shunter.sizing.shapes import known_models

LLAMA = known_models()["Llama-3.1-8B"].shape


def test_a_sequence_is_as_long_as_the_model_takes_up_to_a_limit() -> None:
    assert completed(LLAMA, SizeOptions()).seq == LONGEST
    assert completed(known_models()["GPT-2"].shape, SizeOptions()).seq == 1024
    assert completed(LLAMA, SizeOptions(seq=100)).seq == 100


@pytest.mark.parametrize(
    ("options", "message", "remedy"),
    [
        ({"tp": 3}, "--tp 3: Llama-3.1-8B has 32 heads and 8 key heads; tp must divide both.", "Use --tp 1 or 2 or 4 or 8."),
        ({"tp": 16}, "--tp 16: Llama-3.1-8B has 32 heads and 8 key heads; tp must divide both.", "Use --tp 1 or 2 or 4 or 8."),
        ({"pp": 33}, "--pp 33: Llama-3.1-8B has 32 layers.", "Use fewer stages."),
        ({"cp": 3}, "--cp 3 does not divide --seq 8192.", "Use --cp 1, or a --seq that is a multiple of 3."),
        (
            {"strategy": "lora", "tp": 2},
            "--strategy lora with tensor, pipeline or context parallelism is not modeled.",
            "Leave --tp, --pp and --cp out.",
        ),
    ],
)
def test_what_a_model_cannot_have_is_refused_with_what_it_can(options: dict[str, Any], message: str, remedy: str) -> None:
    with pytest.raises(InputError) as refused:
        completed(LLAMA, SizeOptions(**options))
    assert (refused.value.message, refused.value.remedy) == (message, remedy)


def test_a_sequence_is_no_longer_than_learned_positions() -> None:
    with pytest.raises(InputError, match="--seq 2000: GPT-2 has 1024 positions"):
        completed(known_models()["GPT-2"].shape, SizeOptions(seq=2000))


def test_experts_are_not_quantized() -> None:
    experts = next(model.shape for model in known_models().values() if model.shape.experts)
    with pytest.raises(InputError, match="experts"):
        completed(experts, SizeOptions(strategy="qlora"))
