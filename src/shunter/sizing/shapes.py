"""Shapes of decoder models: what decides how many parameters a model has, and how much memory its training needs.

Known ones are in models.yaml; `config_json` reads others, `assumed` makes one of a bare number of parameters. Counts are exact: a
test compares every known shape with the class of transformers that implements it.
"""

from __future__ import annotations

from functools import cache
from importlib import resources

import msgspec
import yaml

from shunter.did_you_mean import did_you_mean, nearest
from shunter.errors import InputError


class Shape(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A decoder. `ffn` is the width of one expert's MLP where there are experts; `norms` counts normalizations a layer."""

    name: str
    hidden: int
    layers: int
    vocabulary: int
    ffn: int
    heads: int
    kv_heads: int
    head_dim: int = 0
    """0: hidden / heads."""
    tied: bool = False
    gated: bool = True
    """Three matrices in the MLP (gate, up, down), else two."""
    norms: int = 2
    norm_bias: bool = False
    qk_norm: bool = False
    qkv_bias: bool = False
    output_bias: bool = False
    mlp_bias: bool = False
    head_bias: bool = False
    positions: int = 0
    """Learned embeddings of positions; 0 for rotary ones. A sequence cannot be longer."""
    dropout: bool = False
    """Whether masks of dropout are kept for the backward pass."""
    experts: int = 0
    active_experts: int = 0
    parameters: int = 0
    """Exact, as published; 0: `count` says it."""
    note: str = ""
    """What of it is assumed."""

    @property
    def query_width(self) -> int:
        """The width of the queries of all heads together."""
        return self.heads * self.head_width

    @property
    def kv_width(self) -> int:
        """The width of the keys of all heads together, which is that of the values."""
        return self.kv_heads * self.head_width

    @property
    def head_width(self) -> int:
        """The width of one attention head; where the model does not say it, its equal share of the hidden width."""
        return self.head_dim or self.hidden // self.heads

    @property
    def active_ffn(self) -> int:
        """The width of the MLP that one token passes: of all its experts together."""
        return self.ffn * (self.active_experts or 1)

    @property
    def embedding(self) -> int:
        """Parameters of the embedding of tokens; the head has as many (it is the same matrix where `tied`)."""
        return self.vocabulary * self.hidden

    @property
    def embeddings(self) -> int:
        """Parameters of embedding and head together."""
        return self.embedding * (1 if self.tied else 2)

    @property
    def total(self) -> int:
        """All parameters: as published, else as counted."""
        return self.parameters or count(self)


class Model(msgspec.Struct, frozen=True):
    """A row of models.yaml: a shape, the class of transformers that implements it, and the repository of its config.json."""

    shape: Shape
    architecture: str
    source: str


def count(shape: Shape) -> int:
    """All parameters, tied ones once."""
    norm = shape.hidden * (2 if shape.norm_bias else 1)
    head = 0 if shape.tied else shape.embedding
    bias = shape.vocabulary if shape.head_bias else 0
    return shape.layers * layer_count(shape) + norm + shape.embedding + head + bias + shape.positions * shape.hidden


def layer_count(shape: Shape) -> int:
    """Parameters of one layer, all its experts included."""
    hidden, query, kv = shape.hidden, shape.query_width, shape.kv_width
    attention = 2 * hidden * query + 2 * hidden * kv
    attention += (query + 2 * kv if shape.qkv_bias else 0) + (hidden if shape.output_bias else 0)
    attention += 2 * shape.head_width if shape.qk_norm else 0
    router = hidden * shape.experts
    norms = shape.norms * hidden * (2 if shape.norm_bias else 1)
    return attention + router + norms + (shape.experts or 1) * _mlp_count(shape)


def active_count(shape: Shape) -> int:
    """Parameters that one token passes: all but those of the experts that are not chosen for it."""
    idle = shape.experts - shape.active_experts if shape.experts else 0
    return shape.total - shape.layers * idle * _mlp_count(shape)


@cache
def known_models() -> dict[str, Model]:
    """The models of models.yaml by name."""
    rows = yaml.load(resources.files(__package__).joinpath("models.yaml").read_text(), Loader=yaml.CSafeLoader)["models"]
    models = {}
    for row in rows:
        architecture, source = row.pop("class"), row.pop("source")
        shape = msgspec.convert(row, Shape)
        models[shape.name] = Model(shape, architecture, source)
    return models


def shape_named(name: str) -> Shape:
    """The known shape of that name, whatever its case, and whether or not the owner stands before it (`meta-llama/Llama-3.1-8B`).
    InputError with those that may be meant for another."""
    models = known_models()
    wanted = name.rsplit("/", 1)[-1].lower()
    by_name = {key.lower(): model for key, model in models.items()}
    by_name |= {model.source.rsplit("/", 1)[-1].lower(): model for model in models.values()}
    if wanted in by_name:
        return by_name[wanted].shape
    begun = [model.shape.name for key, model in by_name.items() if key.startswith(wanted)]
    close = begun or [by_name[key].shape.name for key in nearest(wanted, by_name)]
    remedy = did_you_mean(list(dict.fromkeys(close)), "Give the path of its config.json, or --params 8B.")
    raise InputError(f"model {name!r} is not known.", remedy)


def assumed(parameters: int) -> Shape:
    """A shape of about so many parameters with the proportions of the Llama 3 model that is nearest in size; `parameters` is kept
    exact, and `note` says what is assumed."""
    names = ("Llama-3.2-1B", "Llama-3.2-3B", "Llama-3.1-8B", "Llama-3.1-70B", "Llama-3.1-405B")
    references = [known_models()[name].shape for name in names]
    model = min(references, key=lambda one: max(one.total / parameters, parameters / one.total))
    scale = (parameters / model.total) ** (1 / 3)
    # Heads keep their size, and groups of heads their number.
    groups = model.heads // model.kv_heads
    kv_heads = max(1, round(model.kv_heads * scale))
    heads = kv_heads * groups
    return msgspec.structs.replace(
        model,
        name=f"{parameters / 1e9:g}B model",
        hidden=heads * model.head_width,
        heads=heads,
        kv_heads=kv_heads,
        head_dim=model.head_width,
        layers=max(1, round(model.layers * scale)),
        ffn=max(64, round(model.ffn * heads / model.heads / 64) * 64),
        parameters=parameters,
        note=f"shape assumed: the proportions of {model.name}, a vocabulary of {model.vocabulary:,}",
    )


def _mlp_count(shape: Shape) -> int:
    matrices = 3 if shape.gated else 2
    bias = (matrices - 1) * shape.ffn + shape.hidden if shape.mlp_bias else 0
    return matrices * shape.hidden * shape.ffn + bias
