"""T09: a checkpoint cannot be read. Only by a traceback with a frame that loads one; does not say what damaged it."""

from __future__ import annotations

import re

from shunter.doctor.case import Case
from shunter.doctor.endings import Ending
from shunter.doctor.rules.logs.texts import log_excerpt, verdict
from shunter.doctor.rules.rule import Rule, logs_of_failures, ranks_text
from shunter.doctor.verdicts import Verdict

_TEXT = re.compile(
    r"failed finding central directory|PytorchStreamReader failed|unexpected EOF|^EOFError|Ran out of input|SafetensorError"
    r"|\[Errno 22\]|UnpicklingError|invalid magic number|HeaderTooSmall|InvalidHeader"
)
_LOADERS = re.compile(r"torch/serialization\.py|safetensors|torch/distributed/checkpoint|load_state_dict|load_checkpoint")
_LOADING = re.compile(r"(?:torch\.load|load_file|safe_open|dcp\.load|load_state_dict|load_checkpoint)\(")
_PATH = re.compile(
    r"""['"]([^'"\s]+\.(?:pt|pth|bin|ckpt|safetensors|distcp|tar)[^'"\s]*|/[^'"\s]*(?:ckpt|checkpoint)[^'"\s]*)['"]"""
)


def judge(case: Case) -> list[Verdict]:
    """Verdicts based on exceptions whose traceback loads a checkpoint, with the path if the message has it. Only likely; never
    what damaged it."""
    ones = [ending for ending in case.reasons if _TEXT.search(ending.text) and _loads(ending)]
    if not ones:
        return []
    path = next((match[1] for one in ones if (match := _PATH.search(_without_frames(one)))), "")
    return [
        verdict(
            case,
            "T09",
            "CHECKPOINT UNREADABLE",
            f"{ranks_text(ones)} cannot read the checkpoint{f' {path}' if path else ''}",
            ones,
            confidence="likely",
            evidence=[log_excerpt(one, one.text) for one in ones],
            remedy="Resume from the previous checkpoint, and check whether this one is complete.",
        )
    ]


def _loads(ending: Ending) -> bool:
    if ending.error is None:
        return False
    return any(_LOADERS.search(frame[0]) for frame in ending.error.frames) or _LOADING.search(ending.whole) is not None


def _without_frames(ending: Ending) -> str:
    return "\n".join(line for line in ending.whole.splitlines() if 'File "' not in line)


RULE = Rule("T09", judge, logs_of_failures, explains=True)
