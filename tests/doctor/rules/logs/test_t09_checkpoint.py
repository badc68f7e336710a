"""A checkpoint that cannot be read, only if the traceback loads one."""

from __future__ import annotations

import pytest

from doctor.evidences import ended, failed, log, pod, traceback
from job_evidence import NOW
from shunter.doctor.diagnosing import diagnose

LOADS = ("/app/train.py", "/usr/lib/python3.11/site-packages/torch/serialization.py")
READS = ("/app/train.py", "/app/dataset.py")


@pytest.mark.parametrize(
    "said",
    [
        "safetensors_rust.SafetensorError: Error while deserializing header: HeaderTooLarge",
        "safetensors_rust.SafetensorError: Error while deserializing header: MetadataIncompleteBuffer",
        "_pickle.UnpicklingError: invalid load key, 'v'.",
        "EOFError: Ran out of input",
        "RuntimeError: PytorchStreamReader failed locating file data/0: file not found",
        "RuntimeError: unexpected EOF, expected 123 more bytes. The file might be corrupted.",
    ],
)
def test_an_error_counts_where_a_checkpoint_is_loaded_and_not_where_data_is_read(said: str) -> None:
    def id_of(frames: tuple[str, ...]) -> str:
        (verdict,) = diagnose(failed(pod(0, **ended(1)), logs=(log(0, traceback(said, *frames)),)), NOW).verdicts
        return verdict.id

    assert (id_of(LOADS), id_of(READS)) == ("T09", "T00")


def test_a_checkpoint_that_does_not_exist_is_not_damaged() -> None:
    said = "FileNotFoundError: [Errno 2] No such file or directory: '/ckpt/last.pt'"
    (verdict,) = diagnose(failed(pod(0, **ended(1)), logs=(log(0, traceback(said, *LOADS)),)), NOW).verdicts
    assert verdict.id == "T00"
