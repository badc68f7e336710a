"""The newest saved checkpoint according to a log. Pure.

A line that announces a save does not show that it was completed. It counts only if the trainer is known to wait for the save, and
a later line has a loss: until then the process may have been killed during the save.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from shunter.api.formats.digits import whole_number
from shunter.api.late_patterns import late_pattern
from shunter.jobs.logs.metrics import log_report, timed
from shunter.operator.program_logs import patterns as patterns
from shunter.operator.training_progress import Checkpoint

LONGEST = 1_000
"""Characters of a line that are read."""
_COUNT = r"(?:global[_ ]?)?(?:step|iteration|iter)s?[ =:_@#-]*(?P<step>\d+)\b(?![.,]\d|%)"
_PATH = (
    r"[\"'`(]?\S*?(?:checkpoint|ckpt|step|iter|iteration)[-_=]?(?P<step>\d+)(?:\.(?:pth?|ckpt|safetensors|bin|tar|npz|keras|h5))?"
    r"/?[\"'`).,;!]*(?=\s|$)"
)
"""A path that ends with a step. A longer one (`checkpoint-500/model.safetensors`) is a part of a checkpoint."""
_SAVED_OBJECT = r"(?:checkpoints?|ckpt|model|(?:training )?state)"
_SAVED = (
    late_pattern(
        rf"\bsaved (?:the )?(?:(?:model|training|full) )?(?:checkpoints? )?(?:(?:at|of|for|after|from|@) )?{_COUNT}", re.I
    ),
    late_pattern(rf"\b{_SAVED_OBJECT}(?: (?:is|was|has been))?[ :]+saved(?:[ :=]+(?:to|in|at|as|under))?[ :=]+{_PATH}", re.I),
    late_pattern(rf"\bsaved (?:(?:the|a|new|full|best|model) )*{_SAVED_OBJECT} (?:to|in|at|as|under):? +{_PATH}", re.I),
    late_pattern(r"\b(?:checkpoint|ckpt)[ #=:_-]*(?:step[ =_-]*)?(?P<step>\d+)(?: (?:is|was|has been))? saved\b", re.I),
    late_pattern(rf"\b{_COUNT}[\]): ,|-]*(?:(?:the|a|new) )*{_SAVED_OBJECT} (?:(?:is|was|has been) )?saved\b", re.I),
    late_pattern(rf"\b{_COUNT}[\]): ,|-]*saved (?:(?:the|a|new|full|best) )*{_SAVED_OBJECT}\b", re.I),
)
_ANNOUNCED = (
    late_pattern(rf"\bSaving model checkpoint to {_PATH}"),  # transformers
    late_pattern(r"\[Torch\] Checkpoint global_step(?P<step>\d+) is about to be saved!"),  # DeepSpeed
)
"""Lines of trainers that wait for their saves."""
_NOT_SAVED = late_pattern(
    r"\b(?:not|never|cannot|can't|couldn't|could not|unable|without|before|until|unless|if|when|will|would|should|must|to) "
    r"(?:be |been |have |yet )*(?:saved?|saving)\b|\bfail\w*\b|\berrors?:|\bsaved nothing\b|\bskip",
    re.I,
)
"""Lines about a save that has not happened."""


def saved_checkpoint(lines: Iterable[str]) -> Checkpoint | None:
    """The checkpoint of the last line that reports one as saved. Lines begin with the kubelet's timestamp."""
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
    """The step that a line (without timestamp) reports as saved; None if it does not."""
    return _saved_step(_readable(text))


def _readable(text: str) -> str:
    return patterns.ESCAPES.sub("", text)[:LONGEST]


def _saved_step(text: str) -> int | None:
    return None if _NOT_SAVED.search(text) else _step(_SAVED, text)


def _step(forms: Iterable[re.Pattern[str]], text: str) -> int | None:
    return next((whole_number(match["step"]) for form in forms if (match := form.search(text))), None)
