"""Reading the JobSet template of a runtime, in which anything may be missing or null."""

from __future__ import annotations

import pytest

from shunter.api.meta import Json
from shunter.api.trainer import template

FULL: Json = {
    "name": "node",
    "template": {
        "metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
        "spec": {"template": {"spec": {"containers": [{"name": "node"}], "initContainers": [{"name": "first"}]}}},
    },
}


def test_what_is_there_is_found() -> None:
    assert template.replicated_jobs({"spec": {"replicatedJobs": [FULL]}}) == [FULL]
    assert template.replicated_job({"spec": {"replicatedJobs": [{"name": "other"}, FULL]}}, "node") is FULL
    assert template.ancestor(FULL) == "trainer"
    assert template.container_names(FULL) == {"node", "first"}


@pytest.mark.parametrize("empty", [{}, {"spec": None}, {"spec": {}}, {"spec": {"replicatedJobs": None}}])
def test_a_template_without_jobs_has_none(empty: Json) -> None:
    assert template.replicated_jobs(empty) == []
    assert template.replicated_job(empty, "node") is None


@pytest.mark.parametrize(
    "empty",
    [
        {},
        {"template": None},
        {"template": {"metadata": None, "spec": None}},
        {"template": {"metadata": {"labels": None}, "spec": {"template": None}}},
        {"template": {"spec": {"template": {"spec": None}}}},
        {"template": {"spec": {"template": {"spec": {"containers": None, "initContainers": None}}}}},
    ],
)
def test_a_replicated_job_that_says_nothing_has_no_containers_and_no_ancestor(empty: Json) -> None:
    assert (template.ancestor(empty), template.containers(empty), template.init_containers(empty)) == ("", [], [])
    assert template.container_names(empty) == set()
