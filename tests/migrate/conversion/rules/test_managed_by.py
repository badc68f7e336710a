"""runPolicy.managedBy: who reconciles the job."""

from __future__ import annotations

import pytest

from migrate.conversion.rules.converted_job import converted

KUEUE = "kueue.x-k8s.io/multikueue"


@pytest.mark.parametrize(
    ("kind", "manager", "carried", "told"),
    [
        pytest.param("PyTorchJob", None, None, [], id="nobody is named"),
        pytest.param("PyTorchJob", "kubeflow.org/training-operator", None, [], id="the operator's own"),
        pytest.param("PyTorchJob", KUEUE, KUEUE, [], id="Kueue"),
        pytest.param("PyTorchJob", "x/y", None, ["MANAGED001"], id="another"),
        pytest.param("PyTorchJob", "", None, ["MANAGED001"], id="an empty text"),
        pytest.param("JAXJob", KUEUE, None, ["MANAGED002"], id="a kind of which v1 does not heed it"),
    ],
)
def test_only_kueue_manages_a_result(kind: str, manager: str | None, carried: str | None, told: list[str]) -> None:
    result = converted({} if manager is None else {"managedBy": manager}, kind=kind)
    assert result.train_job.get("managedBy") == carried
    assert [id for id in result.findings if id.startswith("MANAGED")] == told
