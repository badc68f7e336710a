"""Python's `run` follows a job as the command does; whole runs are in tests/e2e/test_run_program.py."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from one_job import FAILED, JOB, OneJob
from shunter.errors import InputError
from shunter.kube.client import Client
from shunter.launch.running import followed, run


async def test_a_failure_is_told_in_the_words_of_the_command_with_all_its_containers(capsys: pytest.CaptureFixture[str]) -> None:
    ended = await followed(Client(OneJob({"type": "MODIFIED", "object": FAILED})), JOB, timeout=20)
    assert (ended.name, ended.namespace, ended.succeeded) == ("train", "team", False)
    assert ended.message == "TrainJob team/train failed: node-0: exit code 1: ValueError: no data"
    said = capsys.readouterr()
    assert sorted(said.out.splitlines()) == ["[node-0 fetch] fetched", "[node-0 sidecar] copied", "[node-0] ValueError: no data"]
    assert "-- Failed: jobset failed\n" in said.err
    assert said.err.count("ValueError: no data") == 1


async def test_a_job_that_somebody_deletes_has_not_succeeded_and_says_so() -> None:
    ended = await followed(Client(OneJob({"type": "DELETED", "object": JOB})), JOB, timeout=20)
    assert (ended.succeeded, ended.message) == (False, "TrainJob team/train was deleted")


async def test_a_job_that_does_not_end_in_time_is_named_with_its_state() -> None:
    text = "TrainJob team/train is Created and did not end within 0.2 s"
    with pytest.raises(TimeoutError, match=re.escape(text)):
        await followed(Client(OneJob({"type": "MODIFIED", "object": JOB})), JOB, timeout=0.2)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"env_from": ["hub"]}, "--env-from 'hub' does not name a Secret"),
        ({"fabric": "token-ring"}, "token-ring"),
        ({"labels": {"team": "a b"}}, "--label team=a b"),
        ({"grace": "soon"}, "--grace"),
        ({"timeout": -1}, "timeout=-1; it must be more than 0"),
        ({"timeout": float("nan")}, "timeout=nan; it must be more than 0"),
    ],
    ids=["secret", "fabric", "label", "time", "no time to follow", "a time that is no number"],
)
def test_what_no_cluster_could_mean_is_refused_before_one_is_started(
    options: dict[str, Any], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "train.py").write_text("")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    with pytest.raises(InputError, match=re.escape(told)):
        run("train.py", **options)
    assert not (tmp_path / "state").exists()
