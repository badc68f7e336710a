"""What to change when a training fits nowhere: each option by itself is tried, and those that help are named. Pure."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

from shunter.sizing.fits import best_choice
from shunter.sizing.instances import Instance
from shunter.sizing.options import SizeOptions
from shunter.sizing.shapes import Shape

_CHANGES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("--batch 1", {"batch": 1}),
    ("--loss fused", {"loss": "fused"}),
    ("--checkpointing full", {"checkpointing": "full"}),
    ("--optimizer adam8bit", {"optimizer": "adam8bit"}),
    ("--checkpointing full --loss fused", {"checkpointing": "full", "loss": "fused"}),
    ("--strategy fsdp", {"strategy": "fsdp"}),
    ("--cp 8", {"cp": 8}),
    ("--strategy lora", {"strategy": "lora"}),
    ("--strategy qlora", {"strategy": "qlora"}),
)


def levers(shape: Shape, options: SizeOptions, instances: Sequence[Instance]) -> Iterator[str]:
    """`--loss fused: fits on 1 x g6e.48xlarge`, for each change of options that helps on one of these machines."""
    for text, change in _CHANGES:
        if "cp" in change and (options.strategy in ("lora", "qlora") or options.seq % 8):
            continue
        if change.get("strategy") in ("lora", "qlora") and (options.tp * options.pp * options.cp > 1 or shape.experts):
            continue
        if any(getattr(options, field) == value for field, value in change.items()):
            continue
        changed = dataclasses.replace(options, **change)
        choices = [best_choice(shape, changed, instance) for instance in instances]
        fitting = [choice for choice in choices if choice.verdict == "fits"]
        if fitting:
            least = min(fitting, key=lambda choice: (choice.gpus, choice.instance.gpu.memory_mib))
            yield f"{text}: fits on {least.nodes} x {least.instance.name}"
