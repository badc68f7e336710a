"""What Argo CD is told."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from shunter.migrate.conversion.gitops.argo import runtime_annotations
from shunter.operator.trainer.status import COMPLETE, FAILED, SUSPENDED

HEALTH = Path(__file__).parents[4] / "deploy" / "argocd" / "trainjob-health.yaml"


@pytest.mark.parametrize(
    ("annotations", "wave"),
    [
        ({}, None),
        ({"argocd.argoproj.io/tracking-id": "x"}, "-1"),
        ({"argocd.argoproj.io/sync-wave": "5"}, "4"),
        ({"argocd.argoproj.io/sync-wave": "soon"}, None),
        ({"team": "nlp"}, None),
    ],
    ids=["no annotations", "tracked", "in a wave", "in no wave at all", "of others"],
)
def test_a_runtime_comes_one_wave_before_its_job(annotations: dict[str, str], wave: str | None) -> None:
    assert runtime_annotations(annotations).get("argocd.argoproj.io/sync-wave") == wave


def test_the_health_check_knows_every_condition_that_a_train_job_gets() -> None:
    (script,) = yaml.safe_load(HEALTH.read_text())["data"].values()
    assert set(re.findall(r'condition\.type == "(\w+)"', script)) == {COMPLETE, FAILED, SUSPENDED}
