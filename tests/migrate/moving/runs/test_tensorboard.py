"""Metrics from event files of TensorBoard.

They were written by TensorFlow 2.21: one by its second API, one by its first, as PyTorch's writer does it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from shunter.errors import InputError
from shunter.migrate.moving.runs import tensorboard

EVENTS = Path(__file__).parent / "events"


def test_scalars_of_both_writers_are_read_by_tag_and_step() -> None:
    found = {one.name: [(point.at, point.value) for point in one.points] for one in tensorboard.series_of(EVENTS)}
    assert found == {
        "tf2/train/loss": [((1,), 2.5), ((2,), 1.25), ((3,), None)],
        "tf1/loss/train": [((10,), 0.5), ((20,), 0.25)],
    }


def test_values_carry_the_time_at_which_they_were_written() -> None:
    first = tensorboard.series_of(EVENTS / "tf1")[0].points
    assert first[0].time is not None
    assert first[1].time is not None
    assert first[0].time <= first[1].time


def test_a_file_whose_writer_is_still_at_work_gives_what_is_complete(tmp_path: Path) -> None:
    whole = (EVENTS / "tf1/events.out.tfevents.1").read_bytes()
    (tmp_path / "events.out.tfevents.1").write_bytes(whole[:-5])
    assert [point.at for point in tensorboard.series_of(tmp_path)[0].points] == [(10,)]


@pytest.mark.parametrize(
    "content", [b"no event file at all, for sure", b"\x05" + b"\0" * 11 + b"\xff\xff\xff\xff\xff" + b"\0" * 4]
)
def test_a_file_that_is_no_event_file_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.tfevents.1").write_bytes(content)
    with pytest.raises(InputError, match=r"x\.tfevents\.1: not a TensorBoard event file"):
        tensorboard.series_of(tmp_path)


def test_a_directory_without_event_files_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no TensorBoard event file"):
        tensorboard.series_of(tmp_path)
