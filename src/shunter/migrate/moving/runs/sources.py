"""Where metrics of a run are found beside its pods' logs, as a user names it: `tensorboard:DIR`, `mlflow:URI#RUN`, `log:FILE`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from shunter.errors import InputError
from shunter.jobs.logs.metrics import MetricPattern, log_report
from shunter.jobs.metrics import Series
from shunter.migrate.moving.runs import mlflow, tensorboard
from shunter.migrate.moving.runs.record import Run


def with_metrics_of(run: Run, source: str, *, extra: Sequence[MetricPattern] = ()) -> Run:
    """The run with the metrics of one more source. InputError for what is none, EnvironmentProblem for a server that is away."""
    scheme, _, where = source.partition(":")
    match scheme:
        case "tensorboard" if where:
            return run.with_series(tensorboard.series_of(Path(where)))
        case "mlflow" if "#" in where:
            uri, _, run_id = where.rpartition("#")
            return run.with_series(mlflow.series_of(uri, run_id))
        case "log" if where:
            return run.with_series(_log_series(Path(where), extra))
    raise InputError(f"{source}: not a source of metrics.", "Write tensorboard:DIR, mlflow:URI#RUN or log:FILE.")


def _log_series(path: Path, extra: Sequence[MetricPattern]) -> tuple[Series, ...]:
    """The series in a log file of any size, which is read line by line as the logs of pods are: at newlines alone."""
    try:
        with path.open(errors="replace", newline="\n") as lines:
            return log_report(lines, pod=str(path), rank=None, extra=extra).series
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error}.", "Name a log file.") from error
