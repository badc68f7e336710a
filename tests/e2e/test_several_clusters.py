"""A managing cluster and a worker, as with Kueue's MultiKueue: the copy on the worker trains, the job on the managing cluster is
left alone, and what its manager writes to its status is what `jobs` shows. Kueue is not here: its part is played by kubectl."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from e2e.embedded_cluster import EmbeddedCluster
from e2e.running_cluster import eventually
from e2e.test_causes import objects, row

Json = dict[str, Any]
MANAGER = "kueue.x-k8s.io/multikueue"

pytestmark = [pytest.mark.embedded(why="two clusters that `shunter up --simulate` starts"), pytest.mark.timeout(240)]


@pytest.fixture(scope="module")
def clusters(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[EmbeddedCluster, EmbeddedCluster]]:
    """Of which the first manages."""
    both = [EmbeddedCluster(tmp_path_factory.mktemp(name) / "state", options=["--simulate"]) for name in ("managing", "worker")]
    for cluster in both:
        cluster.up()
    yield both[0], both[1]
    for cluster in both:
        cluster.down()


@pytest.mark.parametrize("generation", ["v1", "v2"])
def test_a_job_of_another_manager_is_left_alone_and_shows_its_mirrored_status(
    clusters: tuple[EmbeddedCluster, EmbeddedCluster], generation: str
) -> None:
    managing, worker = clusters
    namespace, kind = f"team-{generation}", "pytorchjobs" if generation == "v1" else "trainjobs"
    *runtime, copy = objects(generation, namespace)
    managed: Json = json.loads(json.dumps(copy))
    (managed["spec"]["runPolicy"] if generation == "v1" else managed["spec"])["managedBy"] = MANAGER
    managing.apply(managing.namespace(namespace), *runtime, managed)
    worker.apply(worker.namespace(namespace), *runtime, copy)

    eventually(lambda: (found := row(worker, namespace))["state"] == "Running" and found["up"] == 2)
    # By now the managing operator has seen its job, which came first, and would have acted.
    waiting = row(managing, namespace)
    assert (waiting["state"], waiting["why"], waiting["cause"].split()[4]) == ("Created", "ManagedByOther", MANAGER)
    assert not managing.get("pods,services,jobsets", "-n", namespace)["items"]

    status = worker.get(kind, "j", "-n", namespace)["status"]
    managing.kubectl(
        "patch", kind, "j", "-n", namespace, "--subresource=status", "--type=merge", "-p", json.dumps({"status": status})
    )
    mirrored = row(managing, namespace)
    assert (mirrored["state"], mirrored["why"]) == ("Running", "")
    assert mirrored["up"] == 2
    assert managing.get(kind, "j", "-n", namespace)["status"] == status, "its operator writes no status of its own"
    assert "left to" not in managing.shunter("describe", "j", "-n", namespace).stdout
