"""One row of the inventory, of a job of any shape."""

from __future__ import annotations

from typing import Any

import pytest

from migrate.survey.inventory.rows import ALWAYS, NOW, job, row, with_role
from shunter.migrate.conversion.batch import converted
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.conversion.suppression import applied, parsed
from shunter.migrate.options import Options
from shunter.migrate.survey.inventory.row import row_of


def test_a_topic_counts_once_and_finished_jobs_are_no_effort() -> None:
    twice = converted([SourceObject(with_role(ALWAYS, "Master", restartPolicy="Always"), "cluster")], Options()).outcomes[0]
    told = [finding.topic for finding in twice.findings]
    assert len(set(told)) < len(told)
    assert row_of(twice, NOW).effort == sum(topic.effort for topic in set(told)) > 0
    assert row({**ALWAYS, "status": job(state="Failed")["status"]}).effort == 0


def test_what_migration_yaml_takes_on_is_no_effort() -> None:
    known = parsed("suppressions:\n- {id: RESTART001, reason: it loops}", "migration.yaml")
    batch = applied(converted([SourceObject(ALWAYS, "cluster")], Options()), known, NOW.date()).batch
    assert row_of(batch.outcomes[0], NOW).effort < row(ALWAYS).effort


@pytest.mark.parametrize("spec", [[], None, "all", {"pytorchReplicaSpecs": []}, {"pytorchReplicaSpecs": {"Master": 1}}])
def test_a_manifest_of_any_shape_has_a_row(spec: Any) -> None:
    value = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "a"}, "spec": spec}
    found = row_of(converted([SourceObject(value, "a.yaml")], Options()).outcomes[0], NOW)
    assert (found.job_class, found.gpus, found.state) == ("blocked", 0, "")


@pytest.mark.parametrize("metadata", ["a", {"labels": "x"}, {"annotations": ["x"]}, {"ownerReferences": "x"}])
def test_metadata_of_any_shape_has_a_row(metadata: Any) -> None:
    found = row_of(converted([SourceObject({**job(), "metadata": metadata}, "a.yaml")], Options()).outcomes[0], NOW)
    assert (found.job_class, found.owner) == ("blocked", "")
