"""The newest saved checkpoint that a log tells of. Pure.

What to know before changing it: a line that announces a save says nothing of its end. It counts only where the trainer is known
to wait for the save, and only when a later line tells a loss: until then the process may have been killed in the middle.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from shunter.api.formats.digits import whole_number
from shunter.api.late_patterns import late_pattern
from shunter.jobs.logs import patterns as patterns
from shunter.jobs.logs.metrics import log_report, timed
from shunter.operator.training_progress import Checkpoint

LONGEST = 1_000
"""Characters of a line that are looked at."""
_COUNT = r"(?:global[_ ]?)?(?:step|iteration|iter)s?[ =:_@#-]*(?P<step>\d+)\b(?![.,]\d|%)"
_PATH = (
    r"[\"'`(]?\S*?(?:checkpoint|ckpt|step|iter|iteration)[-_=]?(?P<step>\d+)(?:\.(?:pth?|ckpt|safetensors|bin|tar|npz|keras|h5))?"
    r"/?[\"'`).,;!]*(?=\s|$)"
)
"""A path that ends with a step. One that goes on after it (`checkpoint-500/model.safetensors`) names a part of a checkpoint."""
_THING = r"(?:checkpoints?|ckpt|model|(?:training )?state)"
_SAVED = (
    late_pattern(
        rf"\bsaved (?:the )?(?:(?:model|training|full) )?(?:checkpoints? )?(?:(?:at|of|for|after|from|@) )?{_COUNT}", re.I
    ),
    late_pattern(rf"\b{_THING}(?: (?:is|was|has been))?[ :]+saved(?:[ :=]+(?:to|in|at|as|under))?[ :=]+{_PATH}", re.I),
    late_pattern(rf"\bsaved (?:(?:the|a|new|full|best|model) )*{_THING} (?:to|in|at|as|under):? +{_PATH}", re.I),
    late_pattern(r"\b(?:checkpoint|ckpt)[ #=:_-]*(?:step[ =_-]*)?(?P<step>\d+)(?: (?:is|was|has been))? saved\b", re.I),
    late_pattern(rf"\b{_COUNT}[\]): ,|-]*(?:(?:the|a|new) )*{_THING} (?:(?:is|was|has been) )?saved\b", re.I),
    late_pattern(rf"\b{_COUNT}[\]): ,|-]*saved (?:(?:the|a|new|full|best) )*{_THING}\b", re.I),
)
_ANNOUNCED = (
    late_pattern(rf"\bSaving model checkpoint to {_PATH}"),  # transformers
    late_pattern(r"\[Torch\] Checkpoint global_step(?P<step>\d+) is about to be saved!"),  # DeepSpeed
)
"""By trainers that wait for their saves."""
_NOT_SAVED = late_pattern(
    r"\b(?:not|never|cannot|can't|couldn't|could not|unable|without|before|until|unless|if|when|will|would|should|must|to) "
    r"(?:be |been |have |yet )*(?:saved?|saving)\b|\bfail\w*\b|\berrors?:|\bsaved nothing\b|\bskip",
    re.I,
)
"""Such lines speak of a save that has not happened."""


def saved_checkpoint(lines: Iterable[str]) -> Checkpoint | None:
    """By the last line that tells of a saved checkpoint. Lines begin with the times that the kubelet puts before them."""
    found: Checkpoint | None = None
    announced: Checkpoint | None = None
    for line in lines:
        time, text = timed(line)
        text = _readable(text)
        if "sav" in text or "Sav" in text:
            if (step := _step(_ANNOUNCED, text)) is not None:
                announced = Checkpoint(step, time)
            elif (step := _saved_step(text)) is not None:
                found, announced = Checkpoint(step, time), None
        elif announced and any("loss" in series.name for series in log_report([text], pod="", rank=0).series):
            found, announced = announced, None
    return found


def saved_step(text: str) -> int | None:
    """The step that a line without its time says is saved; None where it says of none that it is."""
    return _saved_step(_readable(text))


def _readable(text: str) -> str:
    return patterns.ESCAPES.sub("", text)[:LONGEST]


def _saved_step(text: str) -> int | None:
    return None if _NOT_SAVED.search(text) else _step(_SAVED, text)


def _step(forms: Iterable[re.Pattern[str]], text: str) -> int | None:
    return next((whole_number(match["step"]) for form in forms if (match := form.search(text))), None)
