"""What may be named as a source of metrics; those of TensorBoard and MLflow in test_tensorboard.py and test_mlflow.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from shunter.errors import InputError
from shunter.migrate.moving.runs.record import Run
from shunter.migrate.moving.runs.sources import with_metrics_of


def test_a_log_file_is_a_source(tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text("step=1 loss=0.5\n")
    (loss,) = with_metrics_of(Run(), f"log:{tmp_path}/train.log").series
    assert (loss.rank, loss.final) == (None, 0.5)


def test_only_a_newline_ends_a_line_of_a_log_file(tmp_path: Path) -> None:
    """As in logs of pods; str.splitlines would end one at this separator, too."""
    (tmp_path / "train.log").write_text("step=1 \u2028 loss=0.5\r\nstep=2 loss=0.25\r\n")
    (loss,) = with_metrics_of(Run(), f"log:{tmp_path}/train.log").series
    assert [point.at for point in loss.points] == [(1.0,), (2.0,)]


@pytest.mark.parametrize("source", ["wandb:x", "mlflow:http://host", "tensorboard:", "log:/nowhere"])
def test_what_is_no_source_is_refused(source: str) -> None:
    with pytest.raises(InputError):
        with_metrics_of(Run(), source)
