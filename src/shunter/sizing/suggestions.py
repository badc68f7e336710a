"""Changes of options that help if a training fits on no machine: each is tried on its own. Pure."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

from shunter.errors import InputError
from shunter.sizing.fits import best_choice
from shunter.sizing.instances import Instance
from shunter.sizing.model_options import completed
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


def suggestions(shape: Shape, options: SizeOptions, instances: Sequence[Instance]) -> Iterator[str]:
    """`--loss fused: fits on 1 x g6e.48xlarge`, for each change of options that helps on one of these machines."""
    for text, change in _CHANGES:
        if any(getattr(options, field) == value for field, value in change.items()):
            continue
        try:
            changed = completed(shape, dataclasses.replace(options, **change))
        except InputError:
            continue  # This model does not allow it, or it excludes another option.
        choices = [best_choice(shape, changed, instance) for instance in instances]
        fitting = [choice for choice in choices if choice.verdict == "fits"]
        if fitting:
            least = min(fitting, key=lambda choice: (choice.gpus, choice.instance.gpu.memory_mib))
            yield f"{text}: fits on {least.nodes} x {least.instance.name}"
