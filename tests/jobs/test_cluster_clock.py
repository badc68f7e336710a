"""Ages of what a cluster has written are those by the cluster's clock: this machine's differs from it by days here."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from datetime import timedelta

import pytest

from job_evidence import NOW, v1_job, v1_pod
from shunter.api.resources import PODS
from shunter.api.training.pytorch import PYTORCH_JOBS
from shunter.cli import describe
from shunter.cli.jobs import table_of
from shunter.cli.top import TopReader
from shunter.cluster.target import Target
from shunter.jobs.following.follower import JobFollower
from shunter.jobs.following.obstacle import Obstacle
from shunter.jobs.following.pipe_display import PipeDisplay
from shunter.jobs.job_view import JobViewReader
from shunter.jobs.listing import listed
from shunter.kube.client import Client
from shunter.kube.errors import from_answer
from shunter.operator.causes import Cause
from stored_objects import StoredObjects

JOB = PYTORCH_JOBS.typed(v1_job())
YOUNG, OLD = 2, 500
"""Ages of a pod in seconds, too young and old enough for its node to be called silent."""


class Waiting(StoredObjects):
    """A server whose containers have not started, and have no logs."""

    async def stream(
        self, method: str, path: str, *, params: Mapping[str, str] = {}, headers: Mapping[str, str] = {}
    ) -> AsyncGenerator[bytes]:
        chunks: tuple[bytes, ...] = ()
        for chunk in chunks:
            yield chunk
        raise from_answer(method, path, 400, {}, b'{"kind": "Status", "code": 400, "reason": "BadRequest"}')


def server(made: float) -> StoredObjects:
    """A job whose pods were assigned to a node, which has not started them."""
    pods = [v1_pod(role, made=made, spec={"containers": [{"name": "pytorch"}]}) for role in ("master", "worker")]
    for pod in pods:
        pod["metadata"]["labels"]["training.kubeflow.org/job-name"] = "j"
    stored = Waiting((PYTORCH_JOBS, JOB), *((PODS, PODS.typed(pod)) for pod in pods), namespace="n")
    stored.clock = NOW
    return stored


async def asked(made: float) -> Client:
    """A client of the server that has had an answer."""
    client = server(made).client
    await client.list(PODS, "n")
    return client


async def in_list(made: float) -> Cause | None:
    (row,) = (await listed(server(made).client, "n")).rows
    return row.why.cause


async def in_view(made: float) -> Cause | None:
    return (await JobViewReader(server(made).client).read(JOB)).cause


async def in_description(made: float) -> Cause | None:
    lines = await describe.read(Target(server(made).client, None, "a server"), "j", "n")
    assert "  Age      10m" in lines
    (text,) = [line.split()[1].rstrip(":") for line in lines if line.startswith("  Cause ")] or [""]
    return Cause(text, text, text) if text else None


async def while_followed(made: float) -> Cause | None:
    client = await asked(made)
    pods = (await client.list(PODS, "n")).items
    obstacle = Obstacle(client, lambda: (JOB, pods, ()), PipeDisplay())
    await obstacle.check()
    return obstacle.cause


async def at_a_timeout(made: float) -> Cause | None:
    follower = JobFollower(server(made).client, PYTORCH_JOBS, JOB, PipeDisplay())
    assert await follower.run_until(asyncio.get_running_loop().time()) is None
    return follower.cause


Way = Callable[[float], Awaitable[Cause | None]]
WAYS = (in_list, in_view, in_description, while_followed, at_a_timeout)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__.replace("_", " "))
async def test_a_node_is_called_silent_by_the_clock_of_the_cluster(way: Way) -> None:
    assert await way(YOUNG) is None
    silent = await way(OLD)
    assert silent is not None
    assert silent.word == "NodeNotResponding"


async def test_ages_in_lists_are_by_the_clock_of_the_cluster() -> None:
    found = await listed(server(YOUNG).client, "n")
    view = await TopReader(Target(server(YOUNG).client, None, "a server"), "", "n").read()
    assert [abs(at - NOW) < timedelta(minutes=1) for at in (found.at, view.at)] == [True, True]
    (age,) = [column for column in table_of(found.rows, found.at).columns if column.header == "AGE"]
    assert [*age.cells] == ["10m"]
