"""Defaults of a PaddleJob alone."""

from __future__ import annotations

from api.training.kind_rules import PD
from shunter.api.training import paddle_rules


def test_an_elastic_paddlejob_without_workers_is_read() -> None:
    """Upstream panics."""
    job = PD.job({"Master": PD.replica()}, elasticPolicy={})
    assert paddle_rules.with_defaults(job.spec).elastic_policy == job.spec.elastic_policy
