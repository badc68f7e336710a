"""How fast a training runs and how long it takes, where that has been measured on such GPUs. Pure."""

from __future__ import annotations

import dataclasses
from typing import Final

from shunter.sizing.fits import MachineChoice
from shunter.sizing.formulas import flops_per_token
from shunter.sizing.options import SizeOptions
from shunter.sizing.shapes import Shape

LONG: Final = 16_384
"""Sequences of more tokens were measured apart: attention takes more of the time."""


@dataclasses.dataclass(frozen=True)
class Throughput:
    """Both ends of a range, the slower first; `unknown` says why there is none, the figures are then 0."""

    tokens_a_second: tuple[float, float] = (0, 0)
    mfu: tuple[float, float] = (0, 0)
    seconds: tuple[float, float] = (0, 0)
    """For all tokens asked for, the shorter first."""
    unknown: str = ""


def pace(shape: Shape, options: SizeOptions, choice: MachineChoice) -> Throughput:
    """The range for all GPUs of a choice. Only what was measured gives one: full training in bf16, sharded or replicated over all
    GPUs, on GPUs whose share of their peak somebody has published."""
    gpu = choice.instance.gpu
    share = gpu.mfu_long if options.seq > LONG else gpu.mfu
    if share is None:
        return Throughput(unknown=f"no MFU published for {gpu.name}")
    if options.precision == "fp32":
        return Throughput(unknown="MFU was measured in bf16")
    if choice.sharding in ("lora", "qlora"):
        return Throughput(unknown="MFU was measured for full training, not for adapters")
    if options.tp > 1 or options.cp > 1 or options.pp > 1:
        return Throughput(unknown="MFU was measured without tensor, context and pipeline parallelism")
    if shape.experts:
        return Throughput(unknown="MFU was measured for dense models")
    if choice.nodes > 1 and choice.instance.gbps < gpu.mfu_gbps:
        network = f"{choice.instance.gbps:g}" if choice.instance.gbps else "an unknown number of"
        return Throughput(unknown=f"MFU was measured over {gpu.mfu_gbps:g} Gbit/s between machines, not {network}")
    peak = gpu.tflops * 1e12 * choice.gpus / flops_per_token(shape, options.seq)
    slow, fast = peak * share[0], peak * share[1]
    return Throughput((slow, fast), share, (options.tokens / fast, options.tokens / slow))
