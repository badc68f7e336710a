"""Options of an estimate that depend on the model: their defaults and limits. Pure."""

from __future__ import annotations

import dataclasses
import math
from typing import Final

from shunter.errors import InputError
from shunter.sizing.options import SizeOptions
from shunter.sizing.shapes import Shape

LONGEST: Final = 8192
"""The default of tokens per sequence, if the model has as many positions."""


def completed(shape: Shape, options: SizeOptions) -> SizeOptions:
    """The options with the sequence length set. Raises InputError for options that are invalid for this model."""
    seq = options.seq or min(LONGEST, shape.positions or LONGEST)
    if shape.positions and seq > shape.positions:
        raise InputError(f"--seq {seq}: {shape.name} has {shape.positions} positions.", f"Use --seq {shape.positions}, or less.")
    if shape.heads % options.tp or shape.kv_heads % options.tp:
        possible = [number for number in (1, 2, 4, 8, 16) if not shape.heads % number and not shape.kv_heads % number]
        raise InputError(
            f"--tp {options.tp}: {shape.name} has {shape.heads} heads and {shape.kv_heads} key heads; tp must divide both.",
            f"Use --tp {' or '.join(map(str, possible))}.",
        )
    if options.pp > shape.layers:
        raise InputError(f"--pp {options.pp}: {shape.name} has {shape.layers} layers.", "Use fewer stages.")
    if seq % options.cp:
        raise InputError(
            f"--cp {options.cp} does not divide --seq {seq}.",
            f"Use --cp {math.gcd(options.cp, seq)}, or a --seq that is a multiple of {options.cp}.",
        )
    if options.strategy in ("lora", "qlora") and options.tp * options.pp * options.cp > 1:
        raise InputError(
            f"--strategy {options.strategy} with tensor, pipeline or context parallelism is not modeled.",
            "Leave --tp, --pp and --cp out.",
        )
    if options.strategy == "qlora" and shape.experts:
        raise InputError(
            f"--strategy qlora: {shape.name} has experts, whose quantization is not modeled.", "Use --strategy lora."
        )
    return dataclasses.replace(options, seq=seq)
