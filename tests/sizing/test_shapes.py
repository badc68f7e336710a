"""Shapes: every count against the class of transformers that implements the model, on the meta device."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from shunter.errors import InputError
from shunter.sizing.shapes import Model, Shape, active_count, assumed, count, known_models, layer_count, shape_named

MODELS = known_models()


def configuration(model: Model, layers: int) -> dict[str, Any]:
    """The fields of a transformers config for a shape with so many layers."""
    shape = model.shape
    if model.architecture == "GPT2":
        return {
            "n_embd": shape.hidden,
            "n_layer": layers,
            "n_head": shape.heads,
            "n_inner": shape.ffn,
            "vocab_size": shape.vocabulary,
            "n_positions": shape.positions,
        }
    fields = {
        "hidden_size": shape.hidden,
        "num_hidden_layers": layers,
        "num_attention_heads": shape.heads,
        "num_key_value_heads": shape.kv_heads,
        "intermediate_size": shape.ffn,
        "vocab_size": shape.vocabulary,
        "tie_word_embeddings": shape.tied,
        "pad_token_id": None,
        "bos_token_id": None,
        "eos_token_id": None,
    }
    if shape.head_dim:
        fields["head_dim"] = shape.head_dim
    if model.architecture == "Mixtral":
        fields |= {"num_local_experts": shape.experts, "num_experts_per_tok": shape.active_experts}
    if model.architecture == "Qwen3Moe":
        fields |= {"num_experts": shape.experts, "num_experts_per_tok": shape.active_experts, "moe_intermediate_size": shape.ffn}
    return fields


def transformers_count(model: Model, layers: int) -> int:
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    causal = "Gemma3ForCausalLM" if model.architecture == "Gemma3Text" else None
    head = "GPT2LMHeadModel" if model.architecture == "GPT2" else causal or f"{model.architecture}ForCausalLM"
    config = getattr(transformers, f"{model.architecture.removesuffix('Text')}{'Text' if causal else ''}Config")
    with torch.device("meta"):
        built = getattr(transformers, head)(config(**configuration(model, layers)))
    built.tie_weights()
    return sum(parameter.numel() for parameter in built.parameters())


@pytest.mark.xdist_group("transformers")  # to import it takes each process ten seconds
@pytest.mark.integration
@pytest.mark.parametrize("name", MODELS)
def test_counts_are_those_of_transformers(name: str) -> None:
    model = MODELS[name]
    # Layers are alike, so two of them say what all are.
    one, two = transformers_count(model, 1), transformers_count(model, 2)
    assert model.shape.parameters == one + (model.shape.layers - 1) * (two - one)


@pytest.mark.xdist_group("transformers")  # to import it takes each process ten seconds
@pytest.mark.integration
@pytest.mark.parametrize("name", ["Llama-2-7B", "Llama-3.1-8B", "Qwen2.5-0.5B", "GPT-2"])
def test_a_model_of_all_layers_has_the_count_too(name: str) -> None:
    assert MODELS[name].shape.parameters == transformers_count(MODELS[name], MODELS[name].shape.layers)


@pytest.mark.parametrize("name", MODELS)
def test_the_formula_gives_the_published_count(name: str) -> None:
    assert count(MODELS[name].shape) == MODELS[name].shape.parameters


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("Llama-2-7B", 6_738_415_616),
        ("Llama-2-70B", 68_976_648_192),
        ("Llama-3.1-8B", 8_030_261_248),
        ("Llama-3.1-405B", 405_853_388_800),
        ("Qwen2.5-7B", 7_615_616_512),
        ("Mixtral-8x7B", 46_702_792_704),
    ],
)
def test_counts_that_the_publishers_state(name: str, parameters: int) -> None:
    assert MODELS[name].shape.total == parameters


def test_tied_embeddings_are_counted_once() -> None:
    shape = MODELS["Llama-3.2-1B"].shape
    untied = msgspec.structs.replace(shape, tied=False, parameters=0)
    assert count(untied) - shape.total == 128_256 * 2048 == shape.embeddings


def test_biases_of_queries_keys_and_values_are_counted() -> None:
    shape = MODELS["Qwen2.5-7B"].shape
    plain = msgspec.structs.replace(shape, qkv_bias=False)
    assert layer_count(shape) - layer_count(plain) == 3584 + 2 * 512


def test_of_experts_all_are_stored_and_some_are_passed() -> None:
    shape = MODELS["Mixtral-8x7B"].shape
    assert shape.total - active_count(shape) == 32 * 6 * 3 * 4096 * 14336
    assert active_count(MODELS["Qwen3-30B-A3B"].shape) == pytest.approx(3.35e9, rel=0.01)
    assert active_count(MODELS["Llama-3.1-8B"].shape) == MODELS["Llama-3.1-8B"].shape.total


def test_heads_may_be_wider_than_hidden_by_their_number() -> None:
    shape = MODELS["Gemma-7B"].shape
    assert shape.query_width == 4096 != shape.hidden
    naive = msgspec.structs.replace(shape, head_dim=0)
    assert count(naive) != shape.total


def test_padding_of_the_vocabulary_is_part_of_the_shape() -> None:
    shape = MODELS["Mistral-7B-v0.3"].shape
    unpadded = MODELS["Mistral-7B-v0.1"].shape
    assert shape.total - unpadded.total == 2 * 768 * 4096


@pytest.mark.parametrize("name", ["Llama-3.1-8B", "llama-3.1-8b", "meta-llama/Llama-3.1-8B", "Qwen/Qwen2.5-7B", "phi-1_5"])
def test_names_are_found_in_any_case_and_with_their_owner(name: str) -> None:
    assert shape_named(name).total > 10**9


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(InputError, match=r"model 'Lama-3.1-8B' is not known. Did you mean Llama-3.1-8B\?"):
        shape_named("Lama-3.1-8B")
    with pytest.raises(InputError, match=r"Did you mean Mistral-7B-v0.1 or Mistral-7B-v0.3\?"):
        shape_named("mistral-7b")
    with pytest.raises(InputError, match=r"Give the path of its config\.json"):
        shape_named("xyzzy")


@pytest.mark.parametrize("parameters", [10**9, 8 * 10**9, 70 * 10**9, 10**12])
def test_an_assumed_shape_has_about_so_many_parameters_and_says_what_it_assumes(parameters: int) -> None:
    shape = assumed(parameters)
    assert shape.total == parameters
    assert count(msgspec.structs.replace(shape, parameters=0)) == pytest.approx(parameters, rel=0.25)
    assert "shape assumed" in shape.note


def test_an_assumed_shape_of_few_parameters_keeps_their_number() -> None:
    assert assumed(125_000_000).total == 125_000_000


def test_an_assumed_shape_of_a_known_size_is_nearly_the_known_one() -> None:
    known = MODELS["Llama-3.1-8B"].shape
    shape = assumed(known.total)
    assert (shape.hidden, shape.layers, shape.ffn) == (known.hidden, known.layers, known.ffn)


def test_a_shape_refuses_fields_that_do_not_exist() -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"name": "x", "hiden": 1}, Shape)
