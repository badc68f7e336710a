"""What admission refuses of an XGBoostJob alone: it has one master."""

from __future__ import annotations

import msgspec
import pytest

from api.training.kind_rules import XGB
from shunter.api.training.xgboost import KIND as XGBOOST


@pytest.mark.parametrize("replicas", [None, 0, 2], ids=["not said", "none", "two"])
def test_an_xgboostjob_has_one_master_and_says_so(replicas: int | None) -> None:
    job = XGB.job({"Master": XGB.replica(replicas)})
    assert XGB.refused(job) == "spec.xgbReplicaSpecs[Master].replicas: Forbidden: must be 1"


def test_an_xgboostjob_has_a_master() -> None:
    job = XGB.job({"Worker": XGB.replica(0)})
    assert XGB.refused(job) == "spec.xgbReplicaSpecs[Master]: Required value: must be present"


def test_an_xgboostjob_without_a_spec_lacks_roles_first() -> None:
    job = msgspec.convert({"metadata": {"name": "job"}}, XGBOOST.view)
    missing = [
        "spec.xgbReplicaSpecs: Required value: must be required",
        "spec.xgbReplicaSpecs[Master]: Required value: must be present",
    ]
    assert XGB.refused(job) == f"[{', '.join(missing)}]"
