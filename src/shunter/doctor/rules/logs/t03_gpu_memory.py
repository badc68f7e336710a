"""T03: GPU memory is exhausted. With torch's figure of reserved but unused memory; calls nothing a leak."""

from __future__ import annotations

import re

from shunter.doctor.case import Case
from shunter.doctor.rules.logs.texts import log_excerpt, matching, verdict
from shunter.doctor.rules.rule import Rule, logs_of_failures, ranks_text
from shunter.doctor.verdicts import Verdict

_TEXT = re.compile(r"(?:CUDA|HIP) out of memory\..*|torch\.(?:cuda\.)?OutOfMemoryError.*|CUDA error: out of memory.*")
_RESERVED = re.compile(r"([\d.]+ [KMG]iB) is reserved by PyTorch but unallocated")
_TRIED = re.compile(r"Tried to allocate ([\d.]+ [KMG]iB)")


def judge(case: Case) -> list[Verdict]:
    """Verdicts based on torch's message in the errors of failed ranks: which ran out of memory, and the amounts of the first.
    Never that memory leaks."""
    found = matching(case, _TEXT)
    if not found:
        return []
    ones, first = [ending for ending, _ in found], found[0][0].whole
    tried, reserved = _TRIED.search(first), _RESERVED.search(first)
    backward = any("backward" in frame[2] for ending in ones if ending.error is not None for frame in ending.error.frames)
    when = " in the backward pass" if backward else ""
    text = f"{ranks_text(ones)} ran out of GPU memory{when}{f', asking for {tried[1]}' if tried else ''}"
    remedy = "Lower the batch size, checkpoint activations, or shard the model (shunter size shows what fits)."
    if reserved:
        remedy += (
            f" {reserved[1]} is reserved and unallocated: PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True may give it back."
        )
    evidence = [log_excerpt(ending, match[0]) for ending, match in found]
    return [verdict(case, "T03", "OUT OF MEMORY (GPU)", text, ones, confidence="certain", evidence=evidence, remedy=remedy)]


RULE = Rule("T03", judge, logs_of_failures, explains=True)
