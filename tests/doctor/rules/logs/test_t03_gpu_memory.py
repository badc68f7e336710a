"""Who ran out of GPU memory, what they asked for, and what helps."""

from __future__ import annotations

import pytest

from doctor.evidences import ended, failed, log, pod, traceback
from doctor.rule_cases import CUDA, RESET
from job_evidence import NOW
from shunter.doctor.diagnosing import diagnose
from shunter.doctor.verdicts import Verdict

HIP = "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 512.00 MiB. GPU 0 has a total capacity of 63.9 GiB."
NO_AMOUNT = "RuntimeError: CUDA error: out of memory"
REMEDY = "Lower the batch size, checkpoint activations, or shard the model (shunter size shows what fits)."


def verdict_of(*texts: str) -> Verdict:
    """Of a job whose ranks all ended with these errors."""
    pods = [pod(rank, **ended(1)) for rank in range(len(texts))]
    logs = tuple(log(rank, traceback(text)) for rank, text in enumerate(texts))
    return diagnose(failed(*pods, logs=logs), NOW).verdicts[0]


@pytest.mark.parametrize(
    ("texts", "cause"),
    [
        ((RESET, CUDA), "rank 1 ran out of GPU memory, asking for 2.00 GiB"),
        ((CUDA, CUDA), "ranks 0 and 1 ran out of GPU memory, asking for 2.00 GiB"),
        ((HIP, RESET), "rank 0 ran out of GPU memory, asking for 512.00 MiB"),
        ((NO_AMOUNT, RESET), "rank 0 ran out of GPU memory"),
    ],
    ids=["one rank", "all ranks", "a GPU of AMD", "no amount is told"],
)
def test_ranks_that_ran_out_are_named_with_what_they_asked_for(texts: tuple[str, ...], cause: str) -> None:
    verdict = verdict_of(*texts)
    assert (verdict.id, verdict.cause) == ("T03", cause)


def test_memory_that_torch_reserved_and_does_not_use_is_a_remedy_and_never_a_leak() -> None:
    reserved, plain = verdict_of(CUDA, RESET), verdict_of(HIP, RESET)
    assert plain.remedy == REMEDY
    assert reserved.remedy.startswith(f"{REMEDY} 6.3 GiB is reserved and unallocated")
    assert "leak" not in f"{reserved.cause}{reserved.remedy}"
