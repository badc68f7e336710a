"""`plot` where logs may not be read: reports are drawn, and what is missing is said."""

from __future__ import annotations

import pytest

from job_evidence import ago, running, v2_job, v2_pod
from jobs.test_evidence import pod
from jobs.test_job_view import CONTAINERS, LogsRefused
from shunter.api.meta import Json
from shunter.cli import plot as command
from shunter.cluster.target import Target
from shunter.errors import InputError
from shunter.kube.client import Client


def plot(monkeypatch: pytest.MonkeyPatch, job: Json) -> None:
    server = LogsRefused(trainjobs=[job], pods=[pod(v2_pod(spec=CONTAINERS, **running()))])
    monkeypatch.setattr(command, "connect", lambda *_: Target(Client(server), None, "https://server"))
    command.plot("j")


def test_reports_are_drawn_where_logs_may_not_be_read(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    values = [{"name": "step", "value": "3"}, {"name": "loss", "value": "0.5"}]
    plot(monkeypatch, v2_job(1, trainerStatus={"lastUpdatedTime": ago(10), "metrics": values}))
    shown = capsys.readouterr()
    assert "loss of TrainJob n/j, as its program reports it: 0.5 at step 3" in shown.out
    assert "logs not read: pods/log is forbidden" in shown.err


def test_a_metric_with_brackets_keeps_its_name(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    values = [{"name": "step", "value": "3"}, {"name": "loss[train]", "value": "0.5"}]
    plot(monkeypatch, v2_job(1, trainerStatus={"lastUpdatedTime": ago(10), "metrics": values}))
    assert "loss[train] of TrainJob n/j" in capsys.readouterr().out


def test_without_logs_and_reports_the_refusal_is_the_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="its logs could not be read: pods/log is forbidden"):
        plot(monkeypatch, v2_job(1))
