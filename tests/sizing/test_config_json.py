"""config.json of models: read into the same shapes as the known ones, or refused in one sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from shunter.errors import InputError
from shunter.sizing.config_json import KINDS, read_shape, shape_of
from shunter.sizing.shapes import known_models

LLAMA = {
    "model_type": "llama",
    "hidden_size": 4096,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "intermediate_size": 14336,
    "vocab_size": 128256,
    "tie_word_embeddings": False,
}


def without(*keys: str, **changes: Any) -> dict[str, Any]:
    return {key: value for key, value in LLAMA.items() if key not in keys} | changes


@pytest.mark.parametrize(
    ("config", "name"),
    [
        (LLAMA, "Llama-3.1-8B"),
        (
            {
                "model_type": "qwen2",
                "hidden_size": 3584,
                "num_hidden_layers": 28,
                "num_attention_heads": 28,
                "num_key_value_heads": 4,
                "intermediate_size": 18944,
                "vocab_size": 152064,
                "tie_word_embeddings": False,
            },
            "Qwen2.5-7B",
        ),
        ({"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "vocab_size": 50257, "n_positions": 1024}, "GPT-2"),
        (without(model_type="mixtral", num_local_experts=8, num_experts_per_tok=2, vocab_size=32000), "Mixtral-8x7B"),
        (
            {
                "model_type": "gemma2",
                "hidden_size": 2304,
                "num_hidden_layers": 26,
                "num_attention_heads": 8,
                "num_key_value_heads": 4,
                "head_dim": 256,
                "intermediate_size": 9216,
                "vocab_size": 256000,
            },
            "Gemma-2-2B",
        ),
        (
            {
                "model_type": "qwen3_moe",
                "hidden_size": 2048,
                "num_hidden_layers": 48,
                "num_attention_heads": 32,
                "num_key_value_heads": 4,
                "head_dim": 128,
                "intermediate_size": 6144,
                "moe_intermediate_size": 768,
                "num_experts": 128,
                "num_experts_per_tok": 8,
                "decoder_sparse_step": 1,
                "mlp_only_layers": [],
                "vocab_size": 151936,
                "tie_word_embeddings": False,
            },
            "Qwen3-30B-A3B",
        ),
        (
            {
                "model_type": "phi",
                "hidden_size": 2560,
                "num_hidden_layers": 32,
                "num_attention_heads": 32,
                "intermediate_size": 10240,
                "vocab_size": 51200,
                "tie_word_embeddings": False,
            },
            "Phi-2",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_published_config_gives_the_known_count(config: dict[str, Any], name: str) -> None:
    assert shape_of(config, "config.json", "x").total == known_models()[name].shape.total


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (without("hidden_size"), "config.json: hidden_size is missing."),
        (without(hidden_size="4096"), "hidden_size is '4096'; it must be a whole number of at least 1"),
        (without(num_hidden_layers=0), "num_hidden_layers is 0; it must be a whole number"),
        (without(vocab_size=True), "vocab_size is True"),
        (without(model_type="mamba"), "model_type 'mamba' is not modeled; available: llama, mistral"),
        (without("model_type"), "model_type None is not modeled"),
        (without(num_attention_heads=33, num_key_value_heads=33), "4096 is not a multiple of num_attention_heads 33"),
        (without(num_key_value_heads=5), "num_attention_heads 32 is not a multiple of num_key_value_heads 5"),
        (without(model_type="mixtral", num_local_experts=2, num_experts_per_tok=8), "num_experts_per_tok is 8, of 2 experts"),
        (without(model_type="mixtral"), "num_local_experts is missing"),
        (without(model_type="phi", qk_layernorm=True), "qk_layernorm is not modeled"),
        (without(model_type="gpt2", add_cross_attention=True, n_embd=8, n_head=2), "add_cross_attention is not modeled"),
        (without(model_type=["llama"]), "model_type ['llama'] is not modeled"),
        (without(tie_word_embeddings="false"), "tie_word_embeddings is 'false'; it must be true or false"),
        (without(attention_bias=1), "attention_bias is 1; it must be true or false"),
        (without(architectures=["LlamaForSequenceClassification"]), "architectures ['LlamaForSequenceClassification']: only"),
        (
            without(architectures=["LlamaModel"]),
            "architectures ['LlamaModel']: only language models (...ForCausalLM) are modeled",
        ),
        (without(architectures="LlamaForCausalLM"), "architectures 'LlamaForCausalLM'"),
    ],
)
def test_what_is_wrong_is_said_with_its_key_and_value(config: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as raised:
        shape_of(config, "config.json", "x")
    assert message in raised.value.message


def test_a_quantized_model_is_sized_in_the_precision_asked_for_and_says_so() -> None:
    shape = shape_of(without(quantization_config={"bits": 4}), "config.json", "x")
    assert shape.total == 8_030_261_248
    assert "quantization_config is ignored" in shape.note


@pytest.mark.parametrize(
    ("kind", "key", "value"),
    [
        ("mistral", "num_key_value_heads", 8),
        ("qwen3", "head_dim", 128),
        ("gemma3_text", "head_dim", 256),
        ("llama", "num_key_value_heads", 32),
    ],
)
def test_a_key_that_is_missing_counts_as_transformers_takes_it(kind: str, key: str, value: int) -> None:
    config = without(key, model_type=kind)
    assert shape_of(config, "c", "x").total == shape_of(config | {key: value}, "c", "x").total
    if kind == "mistral":
        assert shape_of(config | {key: None}, "c", "x").total == shape_of(config | {key: 32}, "c", "x").total


VARIANTS: list[dict[str, Any]] = [
    {},
    {"tie_word_embeddings": True, "attention_bias": True, "mlp_bias": True, "num_key_value_heads": 8},
    {"tie_word_embeddings": False, "attention_bias": True, "head_dim": 16, "num_key_value_heads": 4},
    {"tie_word_embeddings": None, "attention_bias": False, "num_key_value_heads": 2},
]
SMALL = {"hidden_size": 64, "num_attention_heads": 32, "num_hidden_layers": 2, "intermediate_size": 48, "vocab_size": 128}
OF_KIND: dict[str, dict[str, Any]] = {
    "mixtral": {"num_local_experts": 4, "num_experts_per_tok": 2},
    "qwen3_moe": {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 24},
    "gpt2": {"n_embd": 64, "n_layer": 2, "n_head": 4, "n_inner": None, "n_positions": 32, "vocab_size": 128},
}


@pytest.mark.xdist_group("transformers")  # to import it takes each process ten seconds
@pytest.mark.integration
@pytest.mark.parametrize("kind", KINDS)
def test_what_a_config_says_counts_as_in_transformers(kind: str) -> None:
    """Whatever it switches on, changes or leaves out: the same count, or a refusal."""
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    counted = 0
    for variant in VARIANTS:
        config = {"model_type": kind, **(SMALL if kind != "gpt2" else {}), **OF_KIND.get(kind, {}), **variant}
        try:
            ours = shape_of(config, "c", "x").total
        except InputError:
            continue
        known = {key: value for key, value in config.items() if value is not None}
        tokens = dict.fromkeys(("pad_token_id", "bos_token_id", "eos_token_id"))
        with torch.device("meta"):
            model = transformers.AutoModelForCausalLM.from_config(transformers.AutoConfig.for_model(**known, **tokens))
        model.tie_weights()
        assert ours == sum(parameter.numel() for parameter in model.parameters()), variant
        counted += 1
    assert counted >= 2


def test_biases_that_a_config_switches_on_are_counted() -> None:
    plain, biased = (shape_of(without(attention_bias=bias), "c", "x").total for bias in (False, True))
    assert biased - plain == 32 * (4096 + 2 * 1024 + 4096)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[]", "not an object"),
        (b"{", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b'{"model_type": "mamba2", "time_step_limit": [0.0, Infinity]}', "model_type 'mamba2' is not modeled"),
        (b'{"model_type": "llama"}', "hidden_size is missing"),
    ],
)
def test_files_that_are_no_config_are_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "config.json"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_shape(path)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_shape(tmp_path / "config.json")
    with pytest.raises(InputError, match="cannot be read"):
        read_shape(tmp_path)


def test_a_shape_is_called_as_its_directory(tmp_path: Path) -> None:
    path = tmp_path / "my-model" / "config.json"
    path.parent.mkdir()
    path.write_bytes(msgspec.json.encode(LLAMA))
    assert read_shape(path).name == "my-model"


@pytest.mark.parametrize(("kind", "heads"), [("mistral", 8), ("qwen2", 32), ("gemma", 16), ("gemma2", 4)])
def test_a_default_that_does_not_fit_is_said_to_be_one(kind: str, heads: int) -> None:
    with pytest.raises(InputError) as raised:
        shape_of(without("num_key_value_heads", model_type=kind, num_attention_heads=2), "c", "x")
    assert f"c: num_key_value_heads is missing, and transformers takes {heads} for {kind}" in raised.value.message
    assert raised.value.remedy == "Add num_key_value_heads."
