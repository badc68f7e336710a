"""What the PodGroups of all gang schedulers ask for: every pod, with the most that it needs at one time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from shunter.api.meta import Json
from shunter.operator.trainer.model import BuildError
from shunter.operator.trainer.render import rendered

Make = Callable[..., Any]


def requests(**amounts: Any) -> Json:
    return {"containers": [{"name": "node", "image": "img", "resources": {"requests": amounts}}]}


def test_a_pod_asks_for_the_most_it_needs_at_one_time(make_trainjob: Make, runtime_of: Make) -> None:
    """Containers with sidecars, or an init container with the sidecars before it, and the overhead of its runtime class."""

    def one(name: str, cpu: str, **more: Any) -> Json:
        return {"name": name, "image": "i", "resources": {"requests": {"cpu": cpu}}, **more}

    pod = {
        "initContainers": [one("a", "1"), one("side", "2", restartPolicy="Always"), one("b", "5")],
        "containers": [one("node", "4"), one("c", "500m")],
        "overhead": {"cpu": "100m", "memory": "1Mi"},
    }
    (group,) = rendered(make_trainjob(), runtime_of(None, groups={"coscheduling": {}}, node=pod)).objects
    assert group["spec"]["minResources"] == {"cpu": "7100m", "memory": "1Mi"}


def test_limits_alone_request_nothing(make_trainjob: Make, runtime_of: Make) -> None:
    pod = {"containers": [{"name": "node", "image": "i", "resources": {"limits": {"cpu": 4}}}]}
    (group,) = rendered(make_trainjob(), runtime_of(None, groups={"coscheduling": {}}, node=pod)).objects
    assert group["spec"] == {"minMember": 1, "minResources": {}, "scheduleTimeoutSeconds": 60}


def test_requests_that_are_no_quantities_are_named(make_trainjob: Make, runtime_of: Make) -> None:
    with pytest.raises(BuildError, match="cpu in the resources of container node of the replicated job node is 'much'"):
        rendered(make_trainjob(), runtime_of(None, groups={"coscheduling": {}}, node=requests(cpu="much")))
