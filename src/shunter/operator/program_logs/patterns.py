"""How common trainers print positions and metrics: their patterns, as data.

A line has at most one position (the first pattern that matches counts), any number of values, and perhaps the rank and world size
of a process.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from shunter.api.late_patterns import late_pattern

NUMBER = r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?|[-+]?(?:nan|NaN|inf|Infinity)"


class Position(NamedTuple):
    """How a trainer prints its position. `trainer` is only a comment."""

    trainer: str
    pattern: re.Pattern[str]
    """Has groups `epoch`, `step`, or both; `steps` is the total number of steps."""
    hints: frozenset[str] = frozenset()
    """Of `HINTS_OF_POSITIONS`: it matches no line without one of them. If empty, it matches only at the beginning of a line."""


_EPOCH, _STEP, _BATCH = frozenset({"epoch"}), frozenset({"step", "iter", "round", "it=", "it:", "it "}), frozenset({"batch"})

POSITIONS = (
    Position("PyTorch's MNIST example", late_pattern(r"Train Epoch: *(?P<epoch>\d+) *\[ *(?P<step>\d+)/\d+"), _EPOCH),
    Position("PyTorch's ImageNet example", late_pattern(r"Epoch: *\[ *(?P<epoch>\d+)\] *\[ *(?P<step>\d+)/ *\d+\]"), _EPOCH),
    Position("timm", late_pattern(r"^Train: *(?P<epoch>\d+) *\[ *(?P<step>\d+)/ *\d+")),
    Position("Lightning, tqdm", late_pattern(r"^(?:Epoch *(?P<epoch>\d+): *)?\d+%\|[^|]*\| *(?P<step>\d+)/(?P<steps>\d+)")),
    Position("torchtune", late_pattern(r"^(?P<epoch>\d+)\|(?P<step>\d+)\|")),
    Position("XGBoost, LightGBM", late_pattern(r"^\[(?P<step>\d+)\]\s+(?=\S)")),
    Position("Keras", late_pattern(r"^ *(?P<step>\d+)/\d+ +(?:\[|-|━|\S*s(?:/step)? )")),
    Position("Megatron", late_pattern(r"\biteration +(?P<step>\d+)/ *(?P<steps>\d+)"), _STEP),
    Position(
        "PyTorch's word_language_model example", late_pattern(r"\bepoch +(?P<epoch>\d+) *\| *(?P<step>\d+)/ *\d+ batches"), _EPOCH
    ),
    Position(
        "epoch and step",
        late_pattern(r"\bepoch[ =:]+\[? *(?P<epoch>\d+)\b.*?(?<!/)\b(?:step|iter(?:ation)?|batch)[ =:]+\[? *(?P<step>\d+)", re.I),
        _EPOCH,
    ),
    Position(
        "step",
        late_pattern(
            r"\b(?:global[_ ])?(?:steps?|iter(?:ation)?|it|round)\b *[=: ] *\[? *(?P<step>\d+)(?:(?: */ *| of )(?P<steps>\d+))?",
            re.I,
        ),
        _STEP,
    ),
    Position("batch", late_pattern(r"\bbatch\b *[=: ] *(?P<step>\d+)", re.I), _BATCH),
    Position("epoch", late_pattern(r"\bepoch\b *[=: ] *\[? *(?P<epoch>\d+(?:\.\d+)?)", re.I), _EPOCH),
)

EPOCH_HEADING = late_pattern(r"^Epoch (?P<epoch>\d+)/\d+$")
"""A heading of Keras; the steps below it are of that epoch."""

_KIND = r"(?:average|avg|mean|total|final|running|train(?:ing)?|test|valid(?:ation)?|val|eval(?:uation)?|dev|lm|best)"
_UNITS = r"samples?|examples?|sequences?|tokens?|images?|imgs?|its?|iter(?:ation)?s?|steps?"
_RATE_UNIT = rf"(?:{_UNITS})/s(?:ec(?:ond)?)?"
_METRIC = (
    r"[\w./@'-]*?(?:loss|accuracy|acc|acc@?[15]|perplexity|ppl|rmse|mae|mse|logloss|l1|l2|auc|error|f1|bleu|rouge\w*"
    r"|grad[_ ]?norm|reward|psum|checksum)"
)
VALUE = late_pattern(
    rf"(?<![\w.])(?P<name>(?:{_KIND}[ _])?{_METRIC})[\"']?\s*(?:[=:]|\s)\s*[\"'(]?(?:tensor\()?(?P<value>{NUMBER})(?![\w.]*\w)",
    re.I,
)
"""Metrics that are known by name, however they are written: `loss: 0.3`, `Average loss: 0.3`, `train-rmse:0.3`, `loss 0.3`."""
PAIR = late_pattern(rf"(?<![\w.])(?P<name>[A-Za-z_][\w./-]*)=(?P<value>{NUMBER})(?![\w%/]|\.\d)")
"""`key=value`; counts in lines that have a position or a metric. A quantity with a unit (`dt=152.3ms`) is none."""
THROUGHPUT = late_pattern(
    rf"(?P<value>{NUMBER}) *(?P<unit>{_RATE_UNIT})\b(?! *[=:])"
    rf"|(?P<name>\btps|\bthroughput|\b\w*(?:{_UNITS})(?:_per_|/)s(?:ec(?:onds?)?)?\b)[\"']?[=: ]+"
    rf"(?P<named>\d{{1,3}}(?:,\d{{3}})+|{NUMBER})",
    re.I,
)
"""`9.8it/s`, `300.2 samples/sec`, `tps: 1200`, `train_samples_per_second=120.5`."""
NOT_METRICS = late_pattern(
    r"^(?:\w*_)?(?:rank|world_?size|size|epochs?|steps?|iter(?:ation)?s?|batch(?:es)?|round|seed|pid|port|nproc\w*|nnodes|num_\w+"
    r"|node|total|skipped|v_num)$"
    r"|time|eta$|elapsed|duration|second|_ms$|memory|\bmem|mfu|gpu|util|speed|tps|throughput|/s(?:ec)?$"
    r"|^(?:\w*_)?(?:u?u?id)$|^(?:dt|ts|created|msecs|lineno|process|thread)$",
    re.I,
)
"""Names of counts, positions, times and identifiers, which are no metrics of the training."""

_RANK = r"(?<!local )(?<!local-)\b(?:global[_ ])?rank"
PROCESSES = (
    ("rank", late_pattern(rf"{_RANK}[ =:]*(?P<rank>\d+) *(?:/|of|out of) *(?P<size>\d+)\b", re.I)),
    ("rank", late_pattern(rf"{_RANK}[ =:\]]*(?P<rank>\d+)\b.*?\b(?:world[_ -]?)?size[ =:]*(?P<size>\d+)\b", re.I)),
    ("world", late_pattern(rf"\bworld[_ -]?size[ =:]*(?P<size>\d+)\b.*?{_RANK}[ =:]*(?P<rank>\d+)\b", re.I)),
    ("rank", late_pattern(r"\bGLOBAL_RANK: *(?P<rank>\d+), *MEMBER: *\d+/(?P<size>\d+)\b")),
    (
        "process",
        late_pattern(r"\bprocess(?:[_ ](?:id|index))?[ =:#]*(?P<rank>\d+) *(?:/|of|out of) *(?P<size>\d+)\b", re.I),
    ),
    (
        "process",
        late_pattern(
            r"\bprocess[_ ](?:id|index)[ =:]*(?P<rank>\d+)\b.*?\b(?:num[_ ]processes|process[_ ]count)[ =:]*(?P<size>\d+)\b", re.I
        ),
    ),
    ("world", late_pattern(r"\bworld[_ -]?size[ =:]*(?P<size>\d+)\b", re.I)),
)
"""Rank and world size of a process, each with a word of `HINTS_OF_RANKS` that it needs: the first pattern that matches counts;
the last has no rank."""
RANK = late_pattern(rf"{_RANK}[ _=:]*(?P<rank>\d+)\b", re.I)
"""The rank that a line names."""
SEED = late_pattern(r"(?<!\w)(?:random[_ ])?seed *[=: ] *(?P<seed>\d+)\b", re.I)
ESCAPES = late_pattern(
    r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?"  # titles and links (OSC)
    r"|\x1b[PX^_][^\x1b]*(?:\x1b\\)?"  # strings for terminals (DCS, SOS, PM, APC)
    r"|\x1b\[[0-?]*[ -/]*[@-~]|\x9b[0-?]*[ -/]*[@-~]"  # colours, cursor movements: all other control sequences (CSI)
    r"|\x1b[ -/]*[0-~]?|\x08"
)
"""Escape sequences for terminals."""

HINTS_OF_RANKS = frozenset({"rank", "world", "process"})
HINTS_OF_POSITIONS = frozenset({"epoch", "step", "iter", "batch", "round", "it=", "it:", "it ", "train", "%|"})
HINTS_OF_METRICS = frozenset(
    {
        "loss",
        "acc",
        "perplexity",
        "ppl",
        "rmse",
        "mae",
        "mse",
        "l1",
        "l2",
        "auc",
        "error",
        "f1",
        "bleu",
        "rouge",
        "grad",
        "reward",
        "sum",
    }
)
HINTS_OF_RATES = frozenset({"/s", "per_s", "tps", "throughput"})
_HINTS = (*sorted(HINTS_OF_RANKS | HINTS_OF_POSITIONS | HINTS_OF_METRICS | HINTS_OF_RATES), "seed")


def hints_of(text: str) -> frozenset[str]:
    """The words in the text, in small letters, without which the patterns above match nothing. Most lines of a log have none."""
    lowered = text.lower()
    return frozenset([word for word in _HINTS if word in lowered])


BEGINS_WITH_COUNT = late_pattern(r"\s*[\[\d]")
