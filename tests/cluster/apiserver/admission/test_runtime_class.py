"""RuntimeClasses of pods; what a real server answers is in tests/vectors/cases/runtime-classes.yaml."""

from __future__ import annotations

import pytest

from cluster.apiserver.http_client import Api
from shunter.api.meta import Json
from shunter.cluster.apiserver.admission.runtime_class import PACKAGED, merged_tolerations

ALL: Json = {"operator": "Exists"}
EXISTS: Json = {"key": "gpu", "operator": "Exists"}
EQUAL: Json = {"key": "gpu", "operator": "Equal", "value": "yes"}
PLAIN: Json = {"key": "gpu", "value": "yes"}
LONG: Json = {"key": "gpu", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 40}
SHORT: Json = {"key": "gpu", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 20}


@pytest.mark.parametrize(
    ("first", "second", "merged"),
    [
        pytest.param([], [EXISTS], [EXISTS], id="of a class alone"),
        pytest.param([EXISTS], [dict(EXISTS)], [EXISTS], id="of equal ones the first"),
        pytest.param([EQUAL], [EXISTS], [EXISTS], id="a wider one of the class goes before"),
        pytest.param([ALL], [EXISTS, EQUAL], [ALL], id="one of everything includes all"),
        pytest.param([LONG], [SHORT], [LONG], id="the longer one includes the shorter"),
        pytest.param([SHORT], [LONG], [LONG], id="wherever it is"),
        pytest.param([EXISTS], [LONG], [EXISTS], id="one of all effects includes one of one"),
        pytest.param([EXISTS], [PLAIN], [EXISTS], id="one that exists includes a value"),
        pytest.param([EQUAL], [PLAIN], [PLAIN], id="one without an operator includes one that is Equal"),
    ],
)
def test_a_toleration_that_another_one_includes_is_dropped(first: list[Json], second: list[Json], merged: list[Json]) -> None:
    assert merged_tolerations(first, second) == merged


@pytest.mark.integration
async def test_the_class_of_gpu_clusters_is_there(api: Api, namespace: str) -> None:
    pod = {"metadata": {"name": "p"}, "spec": {"runtimeClassName": "nvidia", "containers": [{"name": "c", "image": "x"}]}}
    created = await api.create(f"/api/v1/namespaces/{namespace}/pods", pod)
    assert created["spec"]["runtimeClassName"] == PACKAGED["handler"]
