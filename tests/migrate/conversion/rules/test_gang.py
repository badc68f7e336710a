"""Gang scheduling: runPolicy.schedulingPolicy, and the scheduler of which only the v1 operator was told."""

from __future__ import annotations

import pytest

from migrate.conversion.rules.converted_job import converted
from shunter.api.meta import Json
from shunter.migrate.options import Options


@pytest.mark.parametrize(
    ("gang", "policy", "scheduler", "told"),
    [
        pytest.param("none", None, None, [], id="nobody asks for a gang"),
        pytest.param("none", {}, None, [], id="an empty policy"),
        pytest.param("none", {"minAvailable": 3}, None, ["GANG001"], id="a policy, and no scheduler"),
        pytest.param("none", {"queue": "q"}, None, ["GANG001"], id="a queue, and no scheduler"),
        pytest.param("volcano", None, "volcano", [], id="the operator makes gangs of all jobs"),
        pytest.param("volcano", {"minAvailable": 3}, "volcano", [], id="all pods"),
        pytest.param("volcano", {"minAvailable": 2}, "volcano", ["GANG002"], id="fewer than all pods"),
        pytest.param("volcano", {"minAvailable": 0}, "volcano", ["GANG002"], id="none of the pods"),
        pytest.param("volcano", {"minResources": {"cpu": "1"}}, "volcano", ["GANG003"], id="resources of its own"),
        pytest.param("volcano", {"priorityClass": "p"}, "volcano", ["GANG004"], id="a priority"),
        pytest.param("coscheduling:mine", {"priorityClass": "p"}, "mine", [], id="a priority that coscheduling ignores"),
        pytest.param("coscheduling:mine", {"minAvailable": 2}, "mine", ["GANG002"], id="fewer than all, with coscheduling"),
    ],
)
def test_pods_of_a_gang_name_its_scheduler(gang: str, policy: Json | None, scheduler: str | None, told: list[str]) -> None:
    result = converted({"schedulingPolicy": policy}, options=Options(gang=gang))
    pods = [job["template"]["spec"] for job in result.jobs]
    assert {pod.get("schedulerName") for pod in pods} == {scheduler}
    assert {pod.get("priorityClassName") for pod in pods} == ({"p"} if "GANG004" in told else {None})
    assert [id for id in result.findings if id.startswith("GANG")] == told
