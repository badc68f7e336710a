"""Which resources decide about the number of processes, as upstream's `ExtractResourcePerNodeFromRuntime` finds them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from shunter.api.meta import Json
from shunter.api.trainer.trainjob import TrainJob
from shunter.operator.trainer.rendezvous import counted_resources

GPUS: Json = {"limits": {"nvidia.com/gpu": 2}}
CPUS: Json = {"limits": {"cpu": 4}}


def replicated(name: str, ancestor: str = "", *, container: str = "node", resources: Json | None = None) -> Json:
    """A replicated job of one container."""
    labels = {"trainer.kubeflow.org/trainjob-ancestor-step": ancestor} if ancestor else {}
    own = {"name": container} if resources is None else {"name": container, "resources": resources}
    return {
        "name": name,
        "template": {"metadata": {"labels": labels}, "spec": {"template": {"spec": {"containers": [own]}}}},
    }


@pytest.mark.parametrize(
    ("jobs", "counted"),
    [
        pytest.param([replicated("node", "trainer", resources=GPUS)], GPUS, id="the nodes'"),
        pytest.param([replicated("trainer", "trainer", resources=GPUS)], GPUS, id="those of what trains, whatever its name"),
        pytest.param([replicated("node", resources=GPUS)], GPUS, id="those of `node`, whatever it is for"),
        pytest.param([replicated("launcher", "trainer", resources=GPUS), replicated("node")], GPUS, id="a launcher's"),
        pytest.param(
            [replicated("launcher", "trainer", resources=CPUS), replicated("node", resources=GPUS)], CPUS, id="the first's"
        ),
        pytest.param(
            [replicated("launcher", "trainer", resources={}), replicated("node", resources=GPUS)],
            {},
            id="the first's, empty ones",
        ),
        pytest.param([replicated("launcher", resources=GPUS), replicated("node")], {}, id="no launcher that is no trainer"),
        pytest.param([replicated("node", "trainer", container="side", resources=GPUS)], {}, id="no other container's"),
        pytest.param([], {}, id="none"),
    ],
)
def test_resources_of_a_runtime(make_trainjob: Callable[..., TrainJob], jobs: list[Json], counted: Json) -> None:
    template = {"spec": {"replicatedJobs": jobs}}
    assert counted_resources(make_trainjob(), template) == counted
    assert counted_resources(make_trainjob(trainer={"resourcesPerNode": CPUS}), template) == CPUS, "the job's alone, not merged"
