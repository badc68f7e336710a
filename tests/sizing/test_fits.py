"""Verdicts: what fits, what is tight, what does not fit and why, and what nobody can say."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shunter.errors import InputError
from shunter.sizing import SizeOptions, size
from shunter.sizing.fits import GIB, best_choice, choice_of, gib
from shunter.sizing.instances import Gpu, Instance, known_instances
from shunter.sizing.shapes import known_models

LLAMA = known_models()["Llama-3.1-8B"].shape
OPTIONS = SizeOptions(seq=8192)


def machine(name: str) -> Instance:
    return known_instances()[name]


def verdicts(model: str, options: SizeOptions, on: str) -> dict[str, str]:
    return {option.choice.instance.name: option.verdict for option in size(model, options, on=on).choices}


def test_the_answer_for_llama_3_1_8b() -> None:
    found = {option.choice.instance.name: (option.verdict, option.choice.nodes) for option in size("Llama-3.1-8B").choices}
    assert found == {
        "p5.48xlarge": ("fits", 1),
        "p4de.24xlarge": ("fits", 1),
        "p5e.48xlarge": ("fits", 1),
        "p6-b200.48xlarge": ("fits", 1),
        "p6-b300.48xlarge": ("fits", 1),
        "p4d.24xlarge": ("fits", 2),
        "g6e.48xlarge": ("fits", 2),
        "g4dn.12xlarge": ("no", 64),
        "g5.48xlarge": ("no", 64),
        "g6.48xlarge": ("no", 64),
    }


def test_eight_l40s_are_tight_for_it() -> None:
    choice = choice_of(LLAMA, OPTIONS, machine("g6e.48xlarge"), 1)
    assert (choice.verdict, round(choice.memory.total / GIB, 1), round(choice.usable / GIB, 1)) == ("tight", 36.9, 42.5)


def test_a10g_does_not_do_on_any_number_of_gpus() -> None:
    choice = best_choice(LLAMA, OPTIONS, machine("g5.48xlarge"))
    assert choice.verdict == "no"
    assert choice.reason == "without parameters, gradients and optimizer: 21.9 of 21.2 GiB, on any number of GPUs (logits 11.7)"


def test_what_would_help_is_named_and_helps() -> None:
    found = size("Llama-3.1-8B", on="g5.48xlarge")
    assert found.levers == ("--loss fused: fits on 16 x g5.48xlarge", "--cp 8: fits on 2 x g5.48xlarge")
    assert verdicts("Llama-3.1-8B", SizeOptions(loss="fused"), "g5.48xlarge") == {"g5.48xlarge": "fits"}


def test_a_gpu_without_bf16_is_refused_in_bf16_only() -> None:
    choice = best_choice(known_models()["GPT-2"].shape, SizeOptions(seq=1024), machine("g4dn.xlarge"))
    assert (choice.verdict, choice.reason) == ("no", "T4 has no bf16 (--precision fp32 would be slow)")
    assert verdicts("GPT-2", SizeOptions(precision="fp32"), "g4dn.xlarge") == {"g4dn.xlarge": "fits"}


@pytest.mark.parametrize("options", [SizeOptions(pp=8), SizeOptions(pp=2, strategy="fsdp")])
def test_nothing_is_said_to_fit_with_pipeline_parallelism(options: SizeOptions) -> None:
    found = size("Llama-3.1-70B", options)
    assert {option.verdict for option in found.choices} == {"unknown", "no"}


@pytest.mark.parametrize("model", ["Mixtral-8x7B", "Qwen3-30B-A3B"])
def test_nothing_is_said_to_fit_with_experts(model: str) -> None:
    assert not size(model).of("fits", "tight")
    assert size(model).of("unknown")


def test_states_that_are_larger_than_the_device_are_a_no_even_where_nothing_else_is_known() -> None:
    choice = choice_of(known_models()["Mixtral-8x7B"].shape, SizeOptions(seq=8192, strategy="ddp"), machine("p5.48xlarge"), 1)
    assert choice.verdict == "no"


@pytest.mark.parametrize(("batch", "verdict"), [(4, "tight"), (8, "no")])
def test_a_batch_that_is_too_large_is_answered_with_batch_one(batch: int, verdict: str) -> None:
    choice = choice_of(LLAMA, dataclasses.replace(OPTIONS, batch=batch), machine("p5.48xlarge"), 1)
    assert (choice.verdict, choice.band.low > 80 * GIB) == (verdict, verdict == "no")
    assert choice.reason.endswith("try --batch 1: 36.9")


def test_tensor_parallelism_stays_within_a_machine() -> None:
    choice = best_choice(LLAMA, dataclasses.replace(OPTIONS, tp=8), machine("g5.12xlarge"))
    assert (choice.verdict, choice.reason) == ("no", "--tp 8 does not span machines, and this one has 4 GPUs")


def test_a_number_of_gpus_that_does_not_divide_is_said() -> None:
    choice = choice_of(LLAMA, dataclasses.replace(OPTIONS, cp=2), machine("g5.xlarge"), 1)
    assert (choice.verdict, choice.reason) == ("no", "1 GPU: not a multiple of tp x pp x cp = 2")


def test_a_host_with_little_memory_makes_it_tight() -> None:
    choice = choice_of(known_models()["Llama-3.2-1B"].shape, SizeOptions(seq=1024, loss="fused"), machine("g6e.xlarge"), 1)
    assert choice.verdict == "tight"
    assert choice.reason.startswith("the GPUs have room; host memory may be too small: 40.8 of 28.6 GiB")


def test_adapters_on_a_sharded_model_say_what_loading_may_need() -> None:
    choice = choice_of(known_models()["Llama-3.1-70B"].shape, SizeOptions(seq=2048, strategy="lora"), machine("p4de.24xlarge"), 1)
    assert choice.verdict == "tight"
    assert "a program that shards it after loading may need 177 of 76.0 GiB" in choice.reason


def test_auto_replicates_where_that_fits_and_shards_elsewhere() -> None:
    small, large = (
        best_choice(known_models()[name].shape, OPTIONS, machine("p5.48xlarge")) for name in ("Llama-3.2-1B", "Llama-3.1-8B")
    )
    assert (small.sharding, large.sharding) == ("ddp", "fsdp")


def test_exactly_so_many_machines_are_judged_where_asked() -> None:
    found = size("Llama-3.1-8B", SizeOptions(nodes=4), on="p5.48xlarge")
    assert [(option.choice.nodes, option.verdict) for option in found.choices] == [(4, "fits")]


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from([model.shape for model in known_models().values() if not model.shape.experts and not model.shape.positions]),
    st.sampled_from([8192, 20000, 81920, 144384]),
    st.integers(0, 4),
)
def test_what_fits_on_some_machines_fits_on_more_of_them(shape, memory_mib, nodes) -> None:  # type: ignore[no-untyped-def]
    one = Instance("x", "x", Gpu("x", memory_mib), 8)
    order = ["no", "tight", "fits"]
    fewer, more = (choice_of(shape, OPTIONS, one, number) for number in (2**nodes, 2 ** (nodes + 1)))
    assert order.index(more.verdict) >= order.index(fewer.verdict)


@pytest.mark.parametrize(
    ("model", "options", "message", "remedy"),
    [
        (
            "Llama-3.1-8B",
            {"tp": 3},
            "--tp 3: Llama-3.1-8B has 32 heads and 8 key heads; tp must divide both.",
            "Use --tp 1 or 2 or 4 or 8.",
        ),
        ("Llama-3.1-8B", {"tp": 16}, "tp must divide both", "Use --tp 1 or 2 or 4 or 8."),
        ("Qwen2.5-0.5B", {"tp": 4}, "14 heads and 2 key heads", "Use --tp 1 or 2."),
        ("Llama-3.1-8B", {"cp": 3}, "--cp 3 does not divide --seq 8192.", "Use --cp 1, or a --seq that is a multiple of 3."),
        (
            "Llama-3.1-8B",
            {"cp": 8, "seq": 12},
            "--cp 8 does not divide --seq 12.",
            "Use --cp 4, or a --seq that is a multiple of 8.",
        ),
        ("Llama-3.1-8B", {"pp": 33}, "--pp 33: Llama-3.1-8B has 32 layers.", "Use fewer stages."),
        ("GPT-2", {"seq": 2048}, "--seq 2048: GPT-2 has 1024 positions.", "Use --seq 1024, or less."),
        ("Llama-3.1-8B", {"strategy": "lora", "tp": 2}, "--strategy lora with tensor", "Leave --tp, --pp and --cp out."),
        (
            "GPT-2",
            {"lora_rank": 64},
            "--lora-rank 64 has no effect with --strategy auto",
            "Add --strategy lora or qlora, or leave --lora-rank out.",
        ),
        (
            "GPT-2",
            {"hsdp": True, "strategy": "ddp"},
            "--hsdp has no effect with --strategy ddp",
            "Use --strategy fsdp, or leave --hsdp out.",
        ),
        ("Mixtral-8x7B", {"strategy": "qlora"}, "has experts, whose quantization is not modeled", "Use --strategy lora."),
    ],
)
def test_impossible_trainings_are_refused_with_a_remedy(
    model: str, options: dict[str, object], message: str, remedy: str
) -> None:
    with pytest.raises(InputError) as raised:
        size(model, SizeOptions(**options))  # type: ignore[arg-type]
    assert message in raised.value.message
    assert raised.value.remedy == remedy


def test_who_asks_to_shard_within_machines_gets_no_replicas() -> None:
    """auto takes DDP where that fits."""
    shape = known_models()["GPT-2"].shape
    asked = [choice_of(shape, SizeOptions(seq=1024, hsdp=hsdp), machine("p5.48xlarge"), 1).sharding for hsdp in (False, True)]
    assert asked == ["ddp", "fsdp"]


def test_a_model_or_its_parameters_are_named_and_not_both() -> None:
    for model, parameters in (("", ""), ("GPT-2", "8B")):
        with pytest.raises(InputError, match="specify one of"):
            size(model, parameters=parameters)


@pytest.mark.parametrize(
    ("size_", "text"), [(0.5 * GIB, "0.50"), (36.9 * GIB, "36.9"), (144384 * 2**20, "141"), (2000 * GIB, "2,000")]
)
def test_bytes_are_written_in_gib(size_: float, text: str) -> None:
    assert gib(size_) == text


@pytest.mark.parametrize(
    ("options", "nodes"),
    [
        pytest.param(SizeOptions(seq=6144, cp=3), 3, id="three parts"),
        pytest.param(SizeOptions(seq=6144, tp=2, cp=3), 3, id="six parts"),
        pytest.param(SizeOptions(seq=8192, tp=8), 1, id="as many parts as a machine has GPUs"),
        pytest.param(SizeOptions(seq=8192, tp=8, cp=2), 2, id="twice as many"),
    ],
)
def test_machines_are_counted_in_multiples_of_the_parts(options: SizeOptions, nodes: int) -> None:
    choice = best_choice(LLAMA, options, machine("p5.48xlarge"))
    assert (choice.verdict, choice.nodes) == ("fits", nodes)


@pytest.mark.parametrize("available", [2, 3, 4, 5, 7, 11])
def test_no_more_machines_are_counted_than_a_cluster_has(available: int) -> None:
    few = dataclasses.replace(machine("p5.48xlarge"), available=available)
    choice = best_choice(LLAMA, SizeOptions(seq=6144, cp=3), few)
    assert choice.nodes <= available
    assert (choice.verdict == "fits") == (available >= 3)
