"""The throughput and duration of a training, if measurements of such GPUs are published. Pure."""

from __future__ import annotations

import dataclasses
from typing import Final

from shunter.sizing.fits import MachineChoice
from shunter.sizing.formulas import flops_per_token
from shunter.sizing.options import SizeOptions
from shunter.sizing.shapes import Shape

LONG: Final = 16_384
"""Longer sequences have their own measurements: attention takes more of the time."""


@dataclasses.dataclass(frozen=True)
class Throughput:
    """A range, the slower end first. If it is unknown, `unknown` has the reason and the figures are 0."""

    tokens_a_second: tuple[float, float] = (0, 0)
    mfu: tuple[float, float] = (0, 0)
    seconds: tuple[float, float] = (0, 0)
    """The duration for all tokens, the shorter first."""
    unknown: str = ""


def throughput(shape: Shape, options: SizeOptions, choice: MachineChoice) -> Throughput:
    """The throughput of all GPUs of a choice. Known only for full training in bf16, sharded or replicated over all GPUs, on GPUs
    with a published MFU."""
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
