"""The machines on which a training fits, and why it does not fit on others. Pure.

The formulas are off by some tens of per cent (docs/sizing.md), so a verdict is about a range: `fits` if the upper end fits; `no`
if the part that does not depend on the batch exceeds the device, or the formula does and the batch cannot be reduced; otherwise
`tight`. Without measurements (pipeline parallelism, experts) there is no verdict.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from typing import Final, Literal

from shunter.api.formats.counts import count
from shunter.sizing.formulas import Memory, Sharding, memory
from shunter.sizing.instances import MIB, Instance
from shunter.sizing.options import MOST_NODES, SizeOptions
from shunter.sizing.shapes import Shape

Verdict = Literal["fits", "tight", "no", "unknown"]

GIB: Final = 2**30
USABLE: Final = 0.95
"""The usable share of a device; CUDA's context and NCCL's buffers need the rest."""
BELOW: Final = 0.30
ABOVE: Final = 0.20
ABOVE_TP: Final = 0.30
ABOVE_QLORA: Final = 0.30
HOST_BYTES_A_RANK: Final = 4 * GIB
"""Host memory of a rank besides the copies for loading and saving: interpreter, torch, buffers of the data loader."""


@dataclasses.dataclass(frozen=True)
class MemoryRange:
    """The result of the formula in bytes, and the range of measurements."""

    low: float
    formula: float
    high: float


@dataclasses.dataclass(frozen=True)
class MachineChoice:
    """A number of machines of one type, and whether the training fits on them."""

    instance: Instance
    nodes: int
    sharding: Sharding
    memory: Memory
    band: MemoryRange
    usable: float
    """Bytes of one GPU."""
    verdict: Verdict
    reason: str = ""

    @property
    def gpus(self) -> int:
        """The number of GPUs of all nodes."""
        return self.nodes * self.instance.gpus


def band(options: SizeOptions, sharding: Sharding, needed: Memory) -> MemoryRange:
    """From 30 % below the formula to 20 % above it; with tensor parallelism or quantization, which measured worse, 30 %."""
    above = ABOVE_TP if options.tp > 1 else ABOVE_QLORA if sharding == "qlora" else ABOVE
    return MemoryRange(needed.total * (1 - BELOW), needed.total, needed.total * (1 + above))


def best_choice(shape: Shape, options: SizeOptions, instance: Instance) -> MachineChoice:
    """The fewest machines of this type on which the training fits, else on which it is tight; else the largest number, with the
    reason. With `options.nodes`, exactly that many."""
    if options.nodes:
        choice = choice_of(shape, options, instance, options.nodes)
        if instance.available and options.nodes > instance.available:
            return dataclasses.replace(choice, verdict="no", reason=f"the cluster has only {instance.available} of them")
        return choice
    tight: MachineChoice | None = None
    for nodes in _node_counts(instance, options.tp * options.pp * options.cp):
        last = choice_of(shape, options, instance, nodes)
        if last.verdict == "fits":
            if tight is None or tight.verdict != "tight":
                return last
            amounts = f"{gib(tight.memory.total)} of {gib(tight.usable)} GiB"
            return dataclasses.replace(last, reason=f"{tight.nodes} would be tight: {amounts}, {tight.reason}")
        if tight is None and last.verdict in ("tight", "unknown") and last.memory.total <= last.usable:
            tight = last
    if tight is not None:
        return tight
    # All numbers of GPUs were tried, so the unsharded parts alone are too large.
    return last if last.verdict in ("no", "unknown") else dataclasses.replace(last, verdict="no", reason=_excess(last))


def choice_of(shape: Shape, options: SizeOptions, instance: Instance, nodes: int) -> MachineChoice:
    """The verdict on exactly so many machines, with the strategy asked for; `auto` takes DDP where that fits and
    sharding was not asked for, else FSDP."""
    gpus = nodes * instance.gpus
    parts = options.tp * options.pp * options.cp
    if gpus % parts or (reason := obstacle(options, instance)):
        reason = f"{count(gpus, 'GPU')}: not a multiple of tp x pp x cp = {parts}" if gpus % parts else reason
        sharding = _shardings(options, gpus)[-1]
        needed = memory(shape, options, sharding, gpus=max(gpus, parts), gpus_a_node=instance.gpus)
        usable = instance.gpu.memory_mib * MIB * USABLE
        return MachineChoice(instance, nodes, sharding, needed, band(options, sharding, needed), usable, "no", reason)
    choices = [_choice_with(shape, options, instance, nodes, sharding) for sharding in _shardings(options, gpus)]
    return next((choice for choice in choices if choice.verdict == "fits"), choices[-1])


def obstacle(options: SizeOptions, instance: Instance) -> str:
    """Why this machine type is unsuitable for any model; empty if it is suitable."""
    if options.precision != "fp32" and not instance.gpu.bf16:
        return f"{instance.gpu.name} has no bf16 (--precision fp32 would be slow)"
    if options.tp > instance.gpus:
        return f"--tp {options.tp} does not span machines, and this one has {count(instance.gpus, 'GPU')}"
    return ""


def unmodelled(shape: Shape, options: SizeOptions) -> str:
    """Why no verdict is possible: the formulas were not validated for this case; empty if they were."""
    if options.pp > 1:
        return "pipeline parallelism is not modeled (a published run needed 50 % more than the formula)"
    if shape.experts:
        return "mixtures of experts are not modeled (expert parallelism, imbalance between experts)"
    return ""


def _choice_with(shape: Shape, options: SizeOptions, instance: Instance, nodes: int, sharding: Sharding) -> MachineChoice:
    needed = memory(shape, options, sharding, gpus=nodes * instance.gpus, gpus_a_node=instance.gpus)
    device = instance.gpu.memory_mib * MIB
    usable, limits = device * USABLE, band(options, sharding, needed)

    def choice(verdict: Verdict, reason: str = "") -> MachineChoice:
        return MachineChoice(instance, nodes, sharding, needed, limits, usable, verdict, reason)

    if instance.note:
        return choice("unknown", instance.note)
    if needed.states > device:
        return choice("no", f"parameters, gradients and optimizer alone take {gib(needed.states)} of {gib(usable)} GiB")
    if reason := unmodelled(shape, options):
        return choice("unknown", reason)
    if needed.floor > device:
        return choice("no", f"states and what is not sharded take {gib(needed.floor)} of {gib(usable)} GiB at any batch size")
    if limits.high <= usable:
        short = _loading(shape, options, sharding, nodes * instance.gpus, usable) or _missing_host_memory(
            instance, sharding, needed
        )
        return choice("tight", short) if short else choice("fits")
    if needed.total <= usable:
        return choice("tight", f"may need up to {gib(limits.high)}")
    over = choice("tight", "")
    if options.batch > 1:
        single = dataclasses.replace(options, batch=1)
        one = memory(shape, single, sharding, gpus=nodes * instance.gpus, gpus_a_node=instance.gpus)
        if one.total <= usable:
            advice = f"{gib(needed.total)} of {gib(usable)} GiB; try --batch 1: {gib(one.total)}"
            return dataclasses.replace(over, verdict="no" if limits.low > device else "tight", reason=advice)
    if needed.total <= device:
        return dataclasses.replace(
            over, reason=f"{gib(needed.total)} of {gib(usable)} GiB; some training runs needed less than the formula says"
        )
    return dataclasses.replace(over, verdict="no", reason=_excess(over))


def gib(size: float) -> str:
    """Bytes in GiB, with up to two decimals: 0.52, 8.4, 36.9, 412."""
    amount = size / GIB
    return f"{amount:.2f}" if amount < 1 else f"{amount:,.1f}" if amount < 100 else f"{amount:,.0f}"


def host_bytes(sharding: Sharding, needed: Memory, gpus: int) -> float:
    """The host memory of a machine: copies of the states of each of its GPUs for loading and saving (one copy for adapters), and
    the processes. An estimate, not a measurement."""
    copies = 1 if sharding in ("lora", "qlora") else 2
    return gpus * (copies * needed.states + HOST_BYTES_A_RANK)


def _missing_host_memory(instance: Instance, sharding: Sharding, needed: Memory) -> str:
    needed_bytes, present = host_bytes(sharding, needed, instance.gpus), instance.memory_mib * MIB
    if not present or needed_bytes <= present:
        return ""
    amounts = f"{gib(needed_bytes)} of {gib(present)} GiB"
    return f"the GPUs have room; host memory may be too small: {amounts} to load and save checkpoints"


def _excess(choice: MachineChoice) -> str:
    """Why there is not enough memory: the parts that are not sharded, if they alone are too large, else the sum."""
    needed, usable = choice.memory, choice.usable
    rest = needed.total - needed.states
    if rest > usable:
        name, size = next((name, size) for name, size in needed.terms().items() if name != "states")
        amounts = f"{gib(rest)} of {gib(usable)} GiB, on any number of GPUs ({name} {gib(size)})"
        return f"without parameters, gradients and optimizer: {amounts}"
    return f"{gib(needed.total)} of {gib(usable)} GiB per GPU on {count(choice.gpus, 'GPU')}"


def _loading(shape: Shape, options: SizeOptions, sharding: Sharding, gpus: int, usable: float) -> str:
    """A warning for adapters on a sharded model that does not fit on one GPU: programs that shard a model after loading it need
    memory for all of it and their part (measured with LitGPT); else empty."""
    width = 4 if options.precision == "fp32" else 2
    whole = width * shape.total * (1 + 1 / gpus) * (1 + ABOVE)
    if sharding != "lora" or gpus == 1 or whole <= usable:
        return ""
    then = f"{gib(whole)} of {gib(usable)} GiB"
    return f"enough once the model is loaded; a program that shards it after loading may need {then} to load it"


def _shardings(options: SizeOptions, gpus: int) -> list[Sharding]:
    if options.strategy != "auto":
        return [options.strategy]
    if gpus == 1:
        return ["ddp"]
    return ["fsdp"] if options.hsdp else ["ddp", "fsdp"]


def _node_counts(instance: Instance, parts: int) -> Iterator[int]:
    """Numbers of machines to try, each about twice the one before. Their GPUs are a multiple of `parts`, if any number's are."""
    step, most = parts // math.gcd(instance.gpus, parts), instance.available or MOST_NODES
    nodes = step
    while nodes < most:
        yield nodes
        nodes *= 2
    yield most // step * step or most
