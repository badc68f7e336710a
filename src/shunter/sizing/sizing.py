"""The estimate for a training: its memory, the machines on which it fits, its duration and its cost."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from shunter.argument_types import typed
from shunter.errors import InputError
from shunter.sizing.config_json import read_shape
from shunter.sizing.fits import MachineChoice, Verdict, best_choice, host_bytes
from shunter.sizing.instances import Instance, chosen_instances
from shunter.sizing.model_options import completed
from shunter.sizing.options import SizeOptions, parameter_count, require_effect
from shunter.sizing.prices import Prices
from shunter.sizing.shapes import Shape, active_count, assumed, shape_named
from shunter.sizing.suggestions import suggestions
from shunter.sizing.throughput import Throughput, throughput

_ORDER: Final[tuple[Verdict, ...]] = ("fits", "tight", "unknown", "no")


@dataclasses.dataclass(frozen=True)
class Cost:
    """The cost of an hour, and of all tokens (lowest and highest), or None if the duration is unknown."""

    currency: str
    hourly: float
    total: tuple[float, float] | None


@dataclasses.dataclass(frozen=True)
class Option:
    """A choice of machines, with its throughput and its cost."""

    choice: MachineChoice
    throughput: Throughput
    cost: Cost | None

    @property
    def verdict(self) -> Verdict:
        """Whether the training fits on these machines."""
        return self.choice.verdict

    @property
    def reason(self) -> str:
        """Why the verdict is not `fits`; empty if it is."""
        return self.choice.reason


@dataclasses.dataclass(frozen=True)
class Sizing:
    """The result of `shunter size`. `choices` has one entry for each machine type, those that fit first."""

    shape: Shape
    options: SizeOptions
    choices: tuple[Option, ...]
    levers: tuple[str, ...]
    """If nothing fits: the options with which it would fit."""
    prices: Prices | None = None

    @property
    def needs(self) -> MachineChoice:
        """The choice whose memory is shown: the first, which fits if any does."""
        return self.choices[0].choice

    def of(self, *verdicts: Verdict) -> list[Option]:
        """The choices with one of these verdicts."""
        return [option for option in self.choices if option.verdict in verdicts]

    def as_json(self) -> dict[str, Any]:
        """The result as JSON; field names include the units (bytes, seconds, tokens)."""
        shape, options = self.shape, self.options
        return {
            "model": {
                "name": shape.name,
                "parameters": shape.total,
                "activeParameters": active_count(shape),
                **({"note": shape.note} if shape.note else {}),
            },
            "training": {
                key: value
                for key, value in dataclasses.asdict(options).items()
                if key not in ("tokens", "nodes", "lora_rank", "hsdp")
            }
            | {"tokens": options.tokens, "hsdp": options.hsdp, "loraRank": options.lora_rank},
            "needs": {"gpus": self.needs.gpus, **_needs_json(self.needs)},
            "options": [_option_json(option) for option in self.choices],
            "levers": list(self.levers),
            **({"prices": {"date": str(self.prices.date), "currency": self.prices.currency}} if self.prices else {}),
        }


@typed
def size(
    model: str | Path = "",
    options: SizeOptions | None = None,
    *,
    parameters: str = "",
    on: str = "",
    instances: Sequence[Instance] | None = None,
    prices: Prices | None = None,
) -> Sizing:
    """Estimates the memory of a training, and the machines on which it fits.

    `model` is a known name (`Llama-3.1-8B`) or the path of a config.json; `parameters` (`8B`) may be given instead. Machines are
    those of `on`, as in `--on` (all of AWS if empty), or `instances`, as returned by `nodes.cluster_instances`. Memory is in
    bytes, time in seconds. Raises InputError for invalid input. Makes no network requests.
    """
    options = options or SizeOptions()
    require_effect(options)
    shape = _shape(str(model), parameters)
    options = completed(shape, options)
    chosen = list(instances) if instances is not None else chosen_instances(on)
    if not chosen:
        raise InputError("size: no machines to size for.", "Omit instances to use those of AWS.")
    choices = [best_choice(shape, options, instance) for instance in chosen]
    if instances is None and not _names_types(on):
        choices = _best_per_gpu(choices)
    speeds = [throughput(shape, options, choice) for choice in choices]
    found = [Option(choice, speed, _cost(choice, speed, prices)) for choice, speed in zip(choices, speeds, strict=True)]
    found.sort(key=lambda option: _rank(option))
    usable = [option for option in found if option.verdict in ("fits", "tight")]
    return Sizing(shape, options, tuple(found), () if usable else tuple(suggestions(shape, options, chosen)), prices)


def _shape(model: str, parameters: str) -> Shape:
    if bool(model) == bool(parameters):
        raise InputError("size: specify one of: a model, a config.json, --params.", "Example: shunter size Llama-3.1-8B")
    if parameters:
        return assumed(parameter_count(parameters))
    path = Path(model)
    if path.suffix == ".json" or path.is_file():
        return read_shape(path)
    if path.is_dir() and (path / "config.json").is_file():
        return read_shape(path / "config.json")
    if path.is_dir() and os.sep in model:
        raise InputError(f"{model}: the directory has no config.json.", "Name the directory of a model as it was published.")
    return shape_named(model)


def _names_types(on: str) -> bool:
    """Whether `on` names single machine types, so that each gets an entry."""
    return any(char.isdigit() for char in on)


def _best_per_gpu(choices: Sequence[MachineChoice]) -> list[MachineChoice]:
    """The best machine for each kind of GPU: the fewest machines on which it fits, then the fewest GPUs."""
    best: dict[str, MachineChoice] = {}
    for choice in choices:
        known = best.get(choice.instance.gpu.name)
        if known is None or _preference(choice) < _preference(known):
            best[choice.instance.gpu.name] = choice
    return list(best.values())


def _preference(choice: MachineChoice) -> tuple[int, int, int]:
    # If nothing fits, the largest machine represents its GPU.
    sign = 1 if choice.verdict in ("fits", "tight") else -1
    return _ORDER.index(choice.verdict), sign * choice.nodes, sign * choice.gpus


def _rank(option: Option) -> tuple[float, ...]:
    """The sort key: the cheapest training first, then those without duration, then those without price; then the fewest
    machines."""
    choice, cost = option.choice, option.cost
    price = (2.0, 0.0) if cost is None else (1.0, cost.hourly) if cost.total is None else (0.0, cost.total[1])
    speed = option.throughput.tokens_a_second[1]
    return (_ORDER.index(option.verdict), *price, choice.nodes, choice.gpus, choice.instance.gpu.memory_mib, -speed)


def _cost(choice: MachineChoice, speed: Throughput, prices: Prices | None) -> Cost | None:
    if prices is None or choice.instance.name not in prices.hourly:
        return None
    hourly = prices.hourly[choice.instance.name] * choice.nodes
    seconds = speed.seconds
    total = (hourly * seconds[0] / 3600, hourly * seconds[1] / 3600) if seconds[1] else None
    return Cost(prices.currency, hourly, total)


def _needs_json(choice: MachineChoice) -> dict[str, Any]:
    return {
        "strategy": choice.sharding,
        "bytesPerGpu": round(choice.band.formula),
        "bandBytes": [round(choice.band.low), round(choice.band.high)],
        "terms": {name: round(value) for name, value in choice.memory.terms().items()},
        "hostBytesPerNode": round(host_bytes(choice.sharding, choice.memory, choice.instance.gpus)),
    }


def _option_json(option: Option) -> dict[str, Any]:
    choice, speed, cost = option.choice, option.throughput, option.cost
    return {
        "verdict": choice.verdict,
        "instance": choice.instance.name,
        "provider": choice.instance.provider,
        "nodes": choice.nodes,
        "gpus": choice.gpus,
        "gpu": choice.instance.gpu.name,
        "usableBytesPerGpu": round(choice.usable),
        **_needs_json(choice),
        **({"reason": choice.reason} if choice.reason else {}),
        "tokensPerSecond": [round(value) for value in speed.tokens_a_second] if not speed.unknown else None,
        "mfu": list(speed.mfu) if not speed.unknown else None,
        "seconds": [round(value) for value in speed.seconds] if not speed.unknown else None,
        **({"noTime": speed.unknown} if speed.unknown else {}),
        **({"cost": {"currency": cost.currency, "hourly": cost.hourly, "total": cost.total}} if cost else {}),
    }
