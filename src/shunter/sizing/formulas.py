"""Bytes of one GPU, by term, and operations of one token. Pure arithmetic; docs/sizing.md explains it and says how far off it is.

States, unsharded parts: ZeRO (arXiv 1910.02054), FSDP2. Activations: flash attention, after "Reducing Activation Recomputation in
Large Transformer Models" (arXiv 2205.05198), per token and layer. Fitted to torchtitan's tables of 2024-12 only.
"""

from __future__ import annotations

import dataclasses
from typing import Final, Literal

from shunter.sizing.options import SizeOptions
from shunter.sizing.shapes import Shape, active_count, layer_count

Sharding = Literal["ddp", "zero1", "zero2", "fsdp", "lora", "qlora"]
"""A strategy that was chosen."""

ADAPTER_BYTES: Final = 16
"""The bytes per parameter of an adapter: trained in fp32 with AdamW, or in mixed precision, which is the same sum."""
QUANTIZED_BYTES: Final = 0.55
"""The bytes per 4-bit parameter and its scales. Embeddings and head are not quantized."""
_MOMENTS = {"adamw": 8, "adam8bit": 2, "sgd": 4, "adafactor": 0}
_MOMENTS_BF16 = {"adamw": 4, "adam8bit": 2, "sgd": 2, "adafactor": 0}


@dataclasses.dataclass(frozen=True)
class Memory:
    """Bytes of one GPU."""

    states: float
    """Parameters, gradients and optimizer, as far as this GPU holds them."""
    logits: float
    unsharded: float
    """What FSDP gathers: two layers and the embeddings, gradients of one layer and of an embedding."""
    activations: float
    recomputation: float
    """One layer's activations, made again in the backward pass."""
    gathered: float
    """Sequences that tensor parallelism gathers."""

    @property
    def total(self) -> float:
        """The sum of all terms: the GPU's peak memory."""
        return self.floor + self.logits + self.activations + self.recomputation + self.gathered

    @property
    def floor(self) -> float:
        """What no batch and no sequence make smaller."""
        return self.states + self.unsharded

    def terms(self) -> dict[str, float]:
        """The terms by name, the largest first, without those that are nothing."""
        terms = {field.name: float(getattr(self, field.name)) for field in dataclasses.fields(self)}
        return dict(sorted(((name, value) for name, value in terms.items() if value), key=lambda term: -term[1]))


def memory(shape: Shape, options: SizeOptions, sharding: Sharding, *, gpus: int, gpus_a_node: int) -> Memory:
    """What one GPU holds at its peak when the model trains on so many GPUs. `gpus` is a multiple of tp x pp x cp."""
    tokens = options.seq * options.batch / options.cp
    shards = gpus // (options.tp * options.pp)
    if options.hsdp:
        shards = min(shards, max(1, gpus_a_node // options.tp))
    split = options.tp * options.pp
    width = 2 if options.precision == "fp32" else 1
    recomputed = 0.0 if options.checkpointing == "none" else kept_bytes(shape, "none") * width * tokens / options.tp
    states, unsharded = _states(shape, options, sharding, shards)
    return Memory(
        states=states / split,
        # Of pipeline parallelism only so much is known: a stage holds its part, and as many microbatches as there are stages.
        activations=kept_bytes(shape, options.checkpointing) * width * tokens * shape.layers / options.tp,
        recomputation=recomputed,
        gathered=6 * width * shape.hidden * tokens if options.tp > 1 else 0.0,
        logits=(12 if options.loss == "eager" else 6) * tokens * shape.vocabulary / options.tp,
        unsharded=unsharded / options.tp,
    )


def kept_bytes(shape: Shape, checkpointing: str) -> float:
    """Bytes of activations in bf16 that one layer keeps of one token for the backward pass."""
    hidden, query, kv, ffn = shape.hidden, shape.query_width, shape.kv_width, shape.active_ffn
    match checkpointing:
        case "full":
            return 2 * hidden
        case "selective":
            return 5 * hidden + 2 * query + 2 * kv + 2 * ffn
        case _:
            masks = 2 * hidden if shape.dropout else 0
            return 8 * hidden + 4 * query + 4 * kv + (8 if shape.gated else 4) * ffn + masks


def state_bytes(options: SizeOptions) -> tuple[int, int, int]:
    """Bytes of one trained parameter: what is kept to compute with, its gradient, and the rest (master copy, moments), as ZeRO
    tells them apart. FSDP2 keeps other parts (4 + 4 + moments in mixed precision); the sum is the same."""
    match options.precision:
        case "fp32":
            return 4, 4, _MOMENTS[options.optimizer]
        case "bf16":
            return 2, 2, _MOMENTS_BF16[options.optimizer]
        case _:
            return 2, 2, 4 + _MOMENTS[options.optimizer]


def adapter_count(shape: Shape, rank: int) -> int:
    """Parameters of LoRA adapters on all linear layers but the head."""
    hidden, query, kv = shape.hidden, shape.query_width, shape.kv_width
    attention = 2 * (hidden + query) + 2 * (hidden + kv)
    mlp = (3 if shape.gated else 2) * (hidden + shape.ffn) * (shape.experts or 1)
    return shape.layers * rank * (attention + mlp)


def flops_per_token(shape: Shape, seq: int) -> float:
    """Operations of training one token, forward and backward: six a parameter that it passes, without the embedding, and
    attention counted as if it looked at the whole sequence. Model FLOPs utilization in gpus.yaml is by this definition."""
    return 6 * (active_count(shape) - shape.embedding) + 12 * shape.layers * shape.query_width * seq


def _states(shape: Shape, options: SizeOptions, sharding: Sharding, shards: int) -> tuple[float, float]:
    """Bytes of states and of what is not sharded, before they are split by tensor and pipeline parallelism."""
    total, layer = shape.total, layer_count(shape)
    computed, gradient, rest = state_bytes(options)
    if sharding in ("lora", "qlora"):
        return _adapted_states(shape, options, sharding, shards)
    if sharding == "ddp":
        return (computed + gradient + rest) * total, 0
    if sharding == "zero1":
        return (computed + gradient) * total + rest * total / shards, 0
    if sharding == "zero2":
        return computed * total + (gradient + rest) * total / shards, 0
    if options.pp > 1:
        # A stage is kept whole from one microbatch to the next, with its gradients; the caller divides by tp alone.
        return (computed + gradient + rest) * total / shards, 6 * total / options.pp
    width = 4 if options.precision == "fp32" else 2
    reduced = 2 if options.precision == "bf16" else 4
    gathered = width * (2 * layer + shape.embeddings)
    gradients = (width + (reduced if options.precision != "fp32" else 0)) * (layer + shape.embedding)
    return (computed + gradient + rest) * total / shards, gathered + gradients


def _adapted_states(shape: Shape, options: SizeOptions, sharding: Sharding, shards: int) -> tuple[float, float]:
    """The frozen model whole on each GPU, or sharded: whichever is less."""
    width = 4 if options.precision == "fp32" else 2
    if sharding == "qlora":
        model = QUANTIZED_BYTES * (shape.total - shape.embeddings) + width * shape.embeddings
    else:
        model = float(width * shape.total)
    gathered = float(width * (2 * layer_count(shape) + shape.embeddings))
    adapters = ADAPTER_BYTES * adapter_count(shape, options.lora_rank)
    if model / shards + gathered < model:
        return (model + adapters) / shards, gathered
    return model + adapters, 0.0
