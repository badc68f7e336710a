"""The shape of a model from its config.json, as models on Hugging Face have it. Reads nothing else and asks no network."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from shunter.errors import InputError
from shunter.sizing.shapes import Shape

_TRAITS: dict[str, dict[str, Any]] = {
    "llama": {},
    "mistral": {},
    "mixtral": {},
    "phi3": {},
    "qwen2": {"qkv_bias": True},
    "qwen3": {"qk_norm": True},
    "qwen3_moe": {"qk_norm": True},
    "gemma": {"tied": True},
    "gemma2": {"tied": True, "norms": 4},
    "gemma3_text": {"tied": True, "norms": 4, "qk_norm": True},
    "phi": {
        "gated": False,
        "norms": 1,
        "norm_bias": True,
        "qkv_bias": True,
        "output_bias": True,
        "mlp_bias": True,
        "head_bias": True,
    },
    "gpt2": {
        "tied": True,
        "gated": False,
        "norm_bias": True,
        "qkv_bias": True,
        "output_bias": True,
        "mlp_bias": True,
        "dropout": True,
    },
}
"""What model_type alone says. Others are refused: a shape that is nearly right gives a count that is wrong in silence."""
_GPT2_NAMES = {
    "hidden_size": "n_embd",
    "num_hidden_layers": "n_layer",
    "num_attention_heads": "n_head",
    "intermediate_size": "n_inner",
}
KINDS = tuple(_TRAITS)
_KEY_VALUE_HEADS = {
    "mistral": 8,
    "mixtral": 8,
    "qwen2": 32,
    "qwen3": 32,
    "qwen3_moe": 4,
    "gemma": 16,
    "gemma2": 4,
    "gemma3_text": 4,
}
_HEAD_DIM = {"qwen3": 128, "gemma": 256, "gemma2": 256, "gemma3_text": 256}
"""What transformers 5 takes where the key is missing, of kinds whose default is not what follows from the number of heads."""
_CAUSAL = ("ForCausalLM", "LMHeadModel")
"""Ends the names of classes that have what is counted here: layers, and a head that predicts the next token."""
_REDUCED = ("quantization_config",)


def read_shape(path: Path) -> Shape:
    """The shape that this config.json describes, by the name of its directory. InputError for what is no such file, for missing
    and impossible values, and for kinds of model whose parameters are not known here."""
    try:
        config = json.loads(path.read_bytes())  # transformers writes NaN and Infinity, which msgspec does not accept
    except FileNotFoundError:
        raise InputError(f"{path}: no such file.", "Name a known model, a config.json, or --params 8B.") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not JSON: {error}.", "Name the config.json of a model.") from error
    if not isinstance(config, dict):
        raise InputError(f"{path}: not an object.", "Name the config.json of a model.")
    return shape_of(config, str(path), path.resolve().parent.name)


def shape_of(config: Mapping[str, Any], title: str, name: str) -> Shape:
    """The shape that a config.json with this content describes; `title` stands in errors. Raises as `read_shape` does."""
    kind = config.get("model_type")
    if not isinstance(kind, str) or kind not in _TRAITS:
        remedy = "Use --params with its number of parameters, or a known model."
        raise InputError(f"{title}: model_type {kind!r} is not modeled; available: {', '.join(_TRAITS)}.", remedy)
    _refuse_other_classes(config, title)
    traits = dict(_TRAITS[kind])
    flag = partial(_flag, config, title)
    if kind == "gpt2":  # It has as many heads of keys as of queries, whatever else a config says.
        config = {key: value for key, value in config.items() if key not in ("num_key_value_heads", "head_dim")}
    numbers = _Numbers(config, title, _GPT2_NAMES if kind == "gpt2" else {})
    hidden = numbers.required("hidden_size")
    heads = numbers.required("num_attention_heads")
    ffn = numbers.optional("intermediate_size", 4 * hidden) if kind == "gpt2" else numbers.required("intermediate_size")
    if kind in ("mixtral", "qwen3_moe"):
        traits["experts"] = numbers.required("num_local_experts" if kind == "mixtral" else "num_experts")
        traits["active_experts"] = numbers.required("num_experts_per_tok")
        if traits["active_experts"] > traits["experts"]:
            raise InputError(f"{title}: num_experts_per_tok is {traits['active_experts']}, of {traits['experts']} experts.")
    if kind == "qwen3_moe":
        ffn = numbers.required("moe_intermediate_size")
        if config.get("mlp_only_layers") or config.get("decoder_sparse_step", 1) != 1:
            raise InputError(f"{title}: layers with experts mixed with layers without are not modeled.")
    for key in ("qk_layernorm", "add_cross_attention"):
        if flag(key):
            raise InputError(f"{title}: {key} is not modeled.", "Use --params with its number of parameters.")
    if kind == "gpt2":
        traits["positions"] = numbers.required("n_positions")
    traits["tied"] = flag("tie_word_embeddings", default=traits.get("tied", False))
    if kind in ("llama", "qwen3", "qwen3_moe", "gemma", "gemma2", "gemma3_text") and flag("attention_bias"):
        traits |= {"qkv_bias": True, "output_bias": True}
    if kind == "llama" and flag("mlp_bias"):
        traits["mlp_bias"] = True
    head_dim = numbers.optional("head_dim", _HEAD_DIM.get(kind, 0))
    if not head_dim and hidden % heads:
        raise InputError(
            f"{title}: hidden_size {hidden} is not a multiple of num_attention_heads {heads}, and head_dim is not set.",
            "Correct one of them.",
        )
    kv_heads = numbers.optional(
        "num_key_value_heads", heads if "num_key_value_heads" in config else _KEY_VALUE_HEADS.get(kind, heads)
    )
    if heads % kv_heads and "num_key_value_heads" not in config:
        raise InputError(
            f"{title}: num_key_value_heads is missing, and transformers takes {kv_heads} for {kind}, "
            f"of which num_attention_heads {heads} is no multiple.",
            "Add num_key_value_heads.",
        )
    if heads % kv_heads:
        raise InputError(f"{title}: num_attention_heads {heads} is not a multiple of num_key_value_heads {kv_heads}.")
    return Shape(
        name=name,
        hidden=hidden,
        layers=numbers.required("num_hidden_layers"),
        vocabulary=numbers.required("vocab_size"),
        ffn=ffn,
        heads=heads,
        kv_heads=kv_heads,
        head_dim=head_dim,
        note="; ".join(
            f"{key} is ignored: the estimate is for training, in the requested precision" for key in _REDUCED if key in config
        ),
        **traits,
    )


def _flag(config: Mapping[str, Any], title: str, key: str, *, default: bool = False) -> bool:
    value = config.get(key)
    if value is None:
        return default
    if not isinstance(value, bool):
        raise InputError(f"{title}: {key} is {value!r}; it must be true or false.")
    return value


def _refuse_other_classes(config: Mapping[str, Any], title: str) -> None:
    """The same kinds of layers stand in models without a head, or with one of other size."""
    classes = config.get("architectures") or []
    if not isinstance(classes, list) or any(not str(one).endswith(_CAUSAL) for one in classes):
        remedy = "Use --params with its number of parameters."
        raise InputError(f"{title}: architectures {classes!r}: only language models (...{_CAUSAL[0]}) are modeled.", remedy)


class _Numbers:
    """Positive whole numbers of a config.json, under the names that this kind of model has for them."""

    def __init__(self, config: Mapping[str, Any], title: str, names: Mapping[str, str]) -> None:
        self._config, self._title, self._names = config, title, names

    def required(self, key: str) -> int:
        key = self._names.get(key, key)
        if self._config.get(key) is None:
            raise InputError(f"{self._title}: {key} is missing.", "Name the config.json of a model as it was published.")
        return self._number(key)

    def optional(self, key: str, default: int) -> int:
        key = self._names.get(key, key)
        return default if self._config.get(key) is None else self._number(key)

    def _number(self, key: str) -> int:
        value = self._config[key]
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise InputError(f"{self._title}: {key} is {value!r}; it must be a whole number of at least 1.")
        return value
