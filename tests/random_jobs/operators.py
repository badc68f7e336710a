"""Upstream's operators and ours, each alone on a fresh real control plane, with its own definitions and webhooks."""

from __future__ import annotations

import json
import socket
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Literal, TypeAlias

import upstream_operators
from control_plane import ControlPlane
from e2e.kept_process import KeptProcess
from e2e.real_cluster import RealCluster
from e2e.running_cluster import KUBECTL
from player.live_cluster import LiveCluster
from player.pod_groups import install_pod_groups
from shunter.api.meta import Json
from shunter.kube import kubeconfig
from shunter.kube.client import connect
from upstream_operators import Ports, Program

Generation: TypeAlias = Literal["v1", "v2"]
Side: TypeAlias = Literal["upstream", "shunter"]

PROGRAMS: dict[Generation, Program] = {"v1": "training-operator", "v2": "trainer"}
START_SECONDS = 90.0


@asynccontextmanager
async def live_cluster(side: Side, generation: Generation, gang_scheduler: str) -> AsyncIterator[LiveCluster]:
    """A control plane without scheduler and nodes on which only that operator runs, for jobs of that generation."""
    with tempfile.TemporaryDirectory(prefix="shunter-random-") as folder:
        directory = Path(folder)
        with ControlPlane(directory, parts=("kube-controller-manager", "jobset"), plain_pods=True) as plane:
            async with connect(kubeconfig.load(plane.kubeconfig), component="random-jobs") as client:
                await install_pod_groups(client)
            running = _upstream(plane, generation, gang_scheduler) if side == "upstream" else _shunter(plane, gang_scheduler)
            with running:
                async with LiveCluster(kubeconfig.load(plane.kubeconfig)) as live:
                    yield live


@contextmanager
def _shunter(plane: ControlPlane, gang_scheduler: str) -> Iterator[None]:
    ours = RealCluster(
        plane,
        components=["operator"],
        gang_scheduler=gang_scheduler,
        default_backoff_limit=None,
        options={"operator": ["--feature-gates=TrainJobStatus=false"]},
    )
    try:
        ours.up()
        yield
    finally:
        ours.down()


@contextmanager
def _upstream(plane: ControlPlane, generation: Generation, gang_scheduler: str) -> Iterator[None]:
    program = PROGRAMS[generation]
    ports = Ports.free()
    authority = upstream_operators.certificates()
    _apply(plane, [one for one in upstream_operators.crds(program) if not _is_of_jobset(one)])
    _kubectl(plane, "wait", "crd", "--all", "--for=condition=Established", "--timeout=60s")
    plane.learn_kinds()
    if generation == "v1":
        _apply(plane, upstream_operators.needed_by_training_operator())
        command = upstream_operators.training_operator(ports, [f"--gang-scheduler-name={gang_scheduler}"])
    else:
        command = upstream_operators.trainer(ports, plane.directory)
    process = KeptProcess([*command, f"--kubeconfig={plane.kubeconfig}"], log=plane.directory / f"{program}.log")
    try:
        _wait_until_webhooks_answer(ports, plane.directory / f"{program}.log")
        _apply(plane, list(upstream_operators.webhooks(program, ports, authority)))
        yield
    finally:
        process.stop()


def _is_of_jobset(definition: Json) -> bool:
    group: str = definition["spec"]["group"]
    return group == "jobset.x-k8s.io"


def _wait_until_webhooks_answer(ports: Ports, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not _listens(ports.webhooks):
        assert time.monotonic() < deadline, f"its webhooks do not answer; {log}:\n{log.read_text()[-2000:]}"
        time.sleep(0.1)


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True


def _apply(plane: ControlPlane, objects: list[Json]) -> None:
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    _kubectl(plane, "apply", "--server-side", "--filename=-", text=text)


def _kubectl(plane: ControlPlane, *arguments: str, text: str = "") -> None:
    command = [KUBECTL, f"--kubeconfig={plane.kubeconfig}", *arguments]
    subprocess.run(command, input=text, text=True, check=True, stdout=subprocess.DEVNULL)
