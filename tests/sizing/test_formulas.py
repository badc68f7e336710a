"""The arithmetic: what the papers' formulas give by hand, and what must hold for any shape."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shunter.sizing.formulas import Sharding, adapter_count, flops_per_token, kept_bytes, memory, state_bytes
from shunter.sizing.options import SizeOptions
from shunter.sizing.shapes import Shape, known_models

GIB = 2**30
LLAMA = known_models()["Llama-3.1-8B"].shape
SHAPES = st.sampled_from([model.shape for model in known_models().values()])
SHARDINGS = st.sampled_from(["ddp", "zero1", "zero2", "fsdp", "lora", "qlora"])
OPTIONS = st.builds(
    SizeOptions,
    seq=st.sampled_from([512, 1024, 8192, 65536]),
    batch=st.integers(1, 8),
    optimizer=st.sampled_from(["adamw", "adam8bit", "sgd", "adafactor"]),
    precision=st.sampled_from(["bf16-mixed", "bf16", "fp32"]),
    checkpointing=st.sampled_from(["none", "selective", "full"]),
    loss=st.sampled_from(["eager", "fused"]),
    hsdp=st.booleans(),
    lora_rank=st.sampled_from([8, 64]),
)


def test_the_terms_of_llama_3_1_8b_on_eight_gpus() -> None:
    needed = memory(LLAMA, SizeOptions(seq=8192), "fsdp", gpus=8, gpus_a_node=8)
    assert {name: round(size / GIB, 1) for name, size in needed.terms().items()} == {
        "states": 15.0,
        "logits": 11.7,
        "unsharded": 6.9,
        "activations": 2.0,
        "recomputation": 1.3,
    }
    assert needed.total / GIB == pytest.approx(36.9, abs=0.05)


def test_a_gpt_layer_keeps_what_megatrons_paper_counts() -> None:
    # 34 s b h, of which 2 are masks of dropout; without the part of attention that flash attention does not keep.
    assert kept_bytes(known_models()["GPT-2"].shape, "none") == 34 * 768


@pytest.mark.parametrize(
    ("precision", "optimizer", "total"),
    [
        ("bf16-mixed", "adamw", 16),
        ("bf16-mixed", "adam8bit", 10),
        ("bf16-mixed", "sgd", 12),
        ("bf16-mixed", "adafactor", 8),
        ("bf16", "adamw", 8),
        ("fp32", "adamw", 16),
    ],
)
def test_bytes_of_a_trained_parameter(precision: str, optimizer: str, total: int) -> None:
    options = SizeOptions(precision=precision, optimizer=optimizer)  # type: ignore[arg-type]
    assert sum(state_bytes(options)) == total


def test_tied_embeddings_are_gathered_once() -> None:
    tied = known_models()["Llama-3.2-1B"].shape
    options = SizeOptions(seq=1024)
    untied = type(tied)(**{field: getattr(tied, field) for field in tied.__struct_fields__} | {"tied": False})
    more = (
        memory(untied, options, "fsdp", gpus=8, gpus_a_node=8).unsharded
        - memory(tied, options, "fsdp", gpus=8, gpus_a_node=8).unsharded
    )
    assert more == 2 * tied.embedding


def test_sharding_within_machines_stops_at_their_gpus() -> None:
    over_all = memory(LLAMA, SizeOptions(seq=8192), "fsdp", gpus=32, gpus_a_node=8)
    within = memory(LLAMA, SizeOptions(seq=8192, hsdp=True), "fsdp", gpus=32, gpus_a_node=8)
    assert within.states == 4 * over_all.states == 16 * LLAMA.total / 8


def test_quantization_leaves_the_embeddings_alone() -> None:
    needed = memory(LLAMA, SizeOptions(seq=8192, lora_rank=1), "qlora", gpus=1, gpus_a_node=1)
    adapters = 16 * adapter_count(LLAMA, 1)
    assert needed.states - adapters == pytest.approx(0.55 * (LLAMA.total - LLAMA.embeddings) + 2 * LLAMA.embeddings)


def test_operations_are_those_of_active_parameters() -> None:
    mixtral = known_models()["Mixtral-8x7B"].shape
    assert flops_per_token(mixtral, 1) < 6 * 13.1e9
    # 5,762 tokens a second on an H100 are 33.7 % of 989 TFLOP/s (torchtitan says 33).
    assert 5762 * flops_per_token(LLAMA, 8192) / 989e12 == pytest.approx(0.337, abs=0.001)


@settings(max_examples=300, deadline=None)
@given(SHAPES, OPTIONS, SHARDINGS, st.integers(0, 5), st.integers(1, 5))
def test_more_gpus_never_need_more_memory_each(
    shape: Shape, options: SizeOptions, sharding: Sharding, nodes: int, more: int
) -> None:
    fewer = memory(shape, options, sharding, gpus=8 * 2**nodes, gpus_a_node=8)
    greater = memory(shape, options, sharding, gpus=8 * 2 ** (nodes + more), gpus_a_node=8)
    assert greater.total <= fewer.total


@settings(max_examples=300, deadline=None)
@given(SHAPES, OPTIONS, SHARDINGS, st.integers(1, 7), st.sampled_from(["seq", "batch"]))
def test_longer_sequences_and_larger_batches_never_need_less(
    shape: Shape, options: SizeOptions, sharding: Sharding, gpus: int, field: str
) -> None:
    longer = dataclasses.replace(options, **{field: getattr(options, field) * 2})
    needs = [memory(shape, one, sharding, gpus=gpus, gpus_a_node=8).total for one in (options, longer)]
    assert needs[0] < needs[1]


@settings(max_examples=200, deadline=None)
@given(SHAPES, OPTIONS, SHARDINGS)
def test_the_total_is_the_sum_of_its_terms(shape: Shape, options: SizeOptions, sharding: Sharding) -> None:
    needed = memory(shape, options, sharding, gpus=8, gpus_a_node=8)
    assert sum(needed.terms().values()) == pytest.approx(needed.total)
    assert all(size > 0 for size in needed.terms().values())


@settings(max_examples=200, deadline=None)
@given(SHAPES, OPTIONS, SHARDINGS)
def test_levers_never_make_it_worse(shape: Shape, options: SizeOptions, sharding: Sharding) -> None:
    def total(**changes: Any) -> float:
        return memory(shape, dataclasses.replace(options, **changes), sharding, gpus=8, gpus_a_node=8).total

    assert total(loss="fused") <= total(loss="eager")
    assert total(optimizer="adam8bit") <= total(optimizer="adamw")
    assert (
        memory(shape, options, "zero1", gpus=8, gpus_a_node=8).states
        <= memory(shape, options, "ddp", gpus=8, gpus_a_node=8).states
    )
