"""Evidence in a directory, and back."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from shunter.doctor.evidence import Evidence, Log
from shunter.doctor.recording import EVIDENCE, LOGS, read, write
from shunter.errors import InputError

TEXTS = ("2026-11-21T12:00:00Z 10%\r20%\r30%\n", "a\r\nb\n", "", "no end", "ü \ufffd \u2028 \x00\n", "lone \x85 \x0b\n")
EVIDENCE_OF_JOB = Evidence(
    job={"kind": "TrainJob", "metadata": {"name": "j"}},
    at=datetime(2026, 11, 21, 12, tzinfo=UTC),
    logs=tuple(
        Log(pod="a.b-0", container=f"c{number}", text=text, is_previous=number % 2 == 1) for number, text in enumerate(TEXTS)
    ),
)


def test_what_is_read_is_what_was_written(tmp_path: Path) -> None:
    write(EVIDENCE_OF_JOB, tmp_path / "new")
    assert read(tmp_path / "new") == EVIDENCE_OF_JOB


def test_a_directory_with_anything_in_it_is_not_written_to(tmp_path: Path) -> None:
    (tmp_path / "other").touch()
    with pytest.raises(InputError, match="is not empty"):
        write(EVIDENCE_OF_JOB, tmp_path)
    with pytest.raises(InputError, match="is not empty"):
        write(EVIDENCE_OF_JOB, tmp_path / "other")


@pytest.mark.parametrize("text", [None, "{", "{}", "[" * 5000, '{"job": {}, "at": "yesterday"}'])
def test_what_no_recording_is_is_refused_with_the_file(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / EVIDENCE).write_text(text)
    with pytest.raises(InputError, match=EVIDENCE) as refused:
        read(tmp_path)
    assert "--record" in refused.value.remedy


@pytest.mark.parametrize("name", ["notes.log", "a.b.log", "pod.container.other.log"])
def test_other_files_beside_the_logs_are_not_taken_for_logs(tmp_path: Path, name: str) -> None:
    write(EVIDENCE_OF_JOB, tmp_path / "new")
    (tmp_path / "new" / LOGS / name).write_text("x")
    assert read(tmp_path / "new") == EVIDENCE_OF_JOB
