"""A sizing as text: the result, then the reasons, then the rejected machines. Pure; `width` is in columns."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Final, NamedTuple

from shunter.api.formats.counts import count
from shunter.sizing.fits import MachineChoice, gib, host_bytes, unmodelled
from shunter.sizing.sizing import Cost, Option, Sizing

_INDENT: Final = 7
_OPTIMIZERS = {"adamw": "AdamW", "adam8bit": "8-bit Adam", "sgd": "SGD", "adafactor": "Adafactor"}
_STRATEGIES = {"ddp": "DDP", "zero1": "ZeRO-1", "zero2": "ZeRO-2", "fsdp": "FSDP", "lora": "LoRA", "qlora": "QLoRA"}
_UNITS = ((10**12, "T"), (10**9, "B"), (10**6, "M"), (10**3, "k"))


def report(sizing: Sizing, width: int) -> list[str]:
    """The lines of a sizing. Each block's first line starts with its word: needs, fits, tight, unknown, no, try, note."""
    lines = _wrapped(_title(sizing), width, _INDENT)
    lines += _block("needs", [_needs(sizing.needs)], width)
    columns = _Columns(
        max(len(_machines(option.choice, sizing)) for option in sizing.choices),
        max(len(_gpus(option.choice)) for option in sizing.choices),
    )
    for verdict in ("fits", "tight", "unknown", "no"):
        for number, option in enumerate(sizing.of(verdict)):
            lines += _row(verdict if not number else "", option, sizing, columns, width)
    lines += _block("try", sizing.levers, width)
    return lines + _block("note", list(_notes(sizing)), width)


def brief(number: float) -> str:
    """`1B`, `1.5T`, `350M`; `8,030,261,248` if no unit is exact."""
    for unit, letter in _UNITS:
        if unit <= number < 1000 * unit and number * 100 % unit == 0:
            return f"{number / unit:g}{letter}"
    return f"{number:g}" if number < 1000 else f"{number:,.0f}"


def two_digits(number: float) -> str:
    """Rounded to two significant digits: 45,090 is `45,000`, 4.47 is `4.5`."""
    if number >= 100:
        digits = len(str(int(number))) - 2
        return f"{round(number, -digits):,.0f}"
    return f"{number:.0f}" if number >= 10 else f"{number:.2g}"


def duration(low: float, high: float) -> str:
    """A range of seconds, in the unit that suits its longer end: `4.5-6.2 h`, `11-14 d`."""
    for unit, letter in ((86400, "d"), (3600, "h"), (60, "min")):
        if high >= (3 if letter == "d" else 1) * unit:
            return f"{two_digits(low / unit)}-{two_digits(high / unit)} {letter}"
    return f"{two_digits(low)}-{two_digits(high)} s"


def _title(sizing: Sizing) -> str:
    shape, options = sizing.shape, sizing.options
    sharding = sizing.needs.sharding
    strategy = _STRATEGIES[sharding] + (" within machines" if options.hsdp and sharding != "ddp" else "")
    parts = [
        *([f"{strategy} of rank {options.lora_rank}"] if sharding in ("lora", "qlora") else ["full", strategy]),
        _OPTIMIZERS[options.optimizer],
        options.precision,
        *(f"{name.upper()} {value}" for name in ("tp", "pp", "cp") if (value := getattr(options, name)) > 1),
        f"seq {options.seq}",
        f"batch {options.batch} per {'rank' if options.tp * options.pp * options.cp > 1 else 'GPU'}",
    ]
    if options.checkpointing != "full":
        parts.append(f"{options.checkpointing} checkpointing")
    if options.loss == "fused":
        parts.append("fused loss")
    return f"{shape.name}  {shape.total:,} parameters  {', '.join(parts)}"


def _needs(choice: MachineChoice) -> str:
    band = choice.band
    terms = "  ".join(f"{name} {gib(size)}" for name, size in choice.memory.terms().items())
    ends = f"{band.low / 2**30:.0f}-{band.high / 2**30:.0f}" if band.high >= 10 * 2**30 else f"{gib(band.low)}-{gib(band.high)}"
    return f"{gib(band.formula)} GiB per GPU on {count(choice.gpus, 'GPU')} ({ends}): {terms}"


class _Columns(NamedTuple):
    machines: int
    gpus: int


def _machines(choice: MachineChoice, sizing: Sizing) -> str:
    if choice.verdict == "no" and not sizing.options.nodes:
        return choice.instance.name
    return f"{choice.nodes} x {choice.instance.name}"


def _gpus(choice: MachineChoice) -> str:
    return f"{choice.instance.gpus} x {choice.instance.gpu.name}"


def _row(word: str, option: Option, sizing: Sizing, columns: _Columns, width: int) -> list[str]:
    """The line of a machine type; text that does not fit continues on the next lines."""
    choice = option.choice
    start = f"{word:{_INDENT}} {_machines(choice, sizing):{columns.machines}}  {_gpus(choice):{columns.gpus}}"
    parts = []
    if option.verdict != "no":
        start += f"  {gib(choice.memory.total):>5} of {gib(choice.usable) if choice.usable else '?':>5} GiB"
        if choice.sharding != sizing.needs.sharding:
            parts.append(_STRATEGIES[choice.sharding])
    if option.verdict in ("fits", "tight"):
        parts.append(_time(option, sizing))
    if option.cost:
        parts.append(_money(option.cost, sizing))
    if choice.reason and choice.reason != unmodelled(sizing.shape, sizing.options):
        parts.append(choice.reason)
    text = "; ".join(parts)
    if not text or len(start) + 2 + len(text) <= width:
        return [f"{start}  {text}".rstrip()]
    indent = " " * (_INDENT + 5)
    return [start.rstrip(), *_wrapped(indent + text, width, len(indent))]


def _time(option: Option, sizing: Sizing) -> str:
    speed = option.throughput
    if speed.unknown:
        return f"no time ({speed.unknown})"
    slow, fast = map(two_digits, speed.tokens_a_second)
    share = f"{speed.mfu[0] * 100:.0f}-{speed.mfu[1] * 100:.0f} % MFU"
    return f"{slow}-{fast} tokens/s at {share}: {brief(sizing.options.tokens)} in {duration(*speed.seconds)}"


def _money(cost: Cost, sizing: Sizing) -> str:
    if cost.total is None:
        return f"{cost.hourly:,.2f} {cost.currency}/h"
    low, high = map(two_digits, cost.total)
    return f"{cost.hourly:,.2f} {cost.currency}/h, {low}-{high} {cost.currency} for {brief(sizing.options.tokens)} tokens"


def _notes(sizing: Sizing) -> Iterator[str]:
    if reason := unmodelled(sizing.shape, sizing.options):
        yield f"no verdict: {reason}; the figures come from the formula"
    if sizing.shape.note:
        yield sizing.shape.note
    if sizing.prices:
        yield f"prices of {sizing.prices.date}, in {sizing.prices.currency}, from your file"
    choice = sizing.needs
    if choice.verdict in ("fits", "tight"):
        needed = host_bytes(choice.sharding, choice.memory, choice.instance.gpus)
        yield f"host memory: about {gib(needed)} GiB per machine to load and save"
    if choice.instance.provider == "cluster":
        yield "all nodes of the cluster are counted, free or in use"


def _block(word: str, rows: list[str] | tuple[str, ...], width: int) -> list[str]:
    lines = []
    for number, row in enumerate(rows):
        lines += _wrapped(f"{word if not number else '':{_INDENT}} {row}", width, _INDENT + 3)
    return lines


def _wrapped(line: str, width: int, indent: int) -> list[str]:
    return textwrap.wrap(
        line,
        max(width, 40),
        subsequent_indent=" " * indent,
        drop_whitespace=True,
        replace_whitespace=False,
        break_long_words=False,
        break_on_hyphens=False,
    )
