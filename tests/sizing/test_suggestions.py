"""What helps a training that fits nowhere: each option that is named is tried again here."""

from __future__ import annotations

import dataclasses
import re

import pytest

from shunter.sizing import SizeOptions, size
from shunter.sizing.shapes import known_models
from shunter.sizing.suggestions import suggestions


@pytest.mark.parametrize(
    ("model", "options", "on"),
    [
        ("Llama-3.1-8B", SizeOptions(), "g5.48xlarge"),
        ("Llama-3.1-8B", SizeOptions(batch=1000), "p5.48xlarge"),
        ("Llama-3.1-70B", SizeOptions(strategy="ddp"), "p5.48xlarge"),
        ("Llama-3.1-8B", SizeOptions(checkpointing="none", batch=64), "p5.48xlarge"),
    ],
    ids=["a large head", "a large batch", "replicated", "all activations kept"],
)
def test_each_option_that_is_named_makes_it_fit_on_so_many_machines(model: str, options: SizeOptions, on: str) -> None:
    found = size(model, options, on=on)
    assert found.choices[0].verdict != "fits"
    assert found.levers
    for text in found.levers:
        option, nodes = re.fullmatch(rf"(--.*): fits on (\d+) x {on}", text).groups()  # type: ignore[union-attr]
        words = option.split()
        change = {name.removeprefix("--"): value for name, value in zip(words[::2], words[1::2], strict=True)}
        numbers = {name: int(value) if value.isdigit() else value for name, value in change.items()}
        (again,) = size(model, dataclasses.replace(options, **numbers), on=on).choices  # type: ignore[arg-type]
        assert (again.verdict, again.choice.nodes) == ("fits", int(nodes))


def test_nothing_helps_where_there_are_no_machines() -> None:
    assert list(suggestions(known_models()["Llama-3.1-8B"].shape, SizeOptions(seq=8192), [])) == []
