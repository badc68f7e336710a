"""Runs a program on a cluster from Python: finds the cluster as the command does, prints the logs, returns the outcome."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import sys
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from shunter.api.meta import Json
from shunter.api.resources import PODS
from shunter.cluster import lifecycle
from shunter.cluster.state_dir import default_state_dir
from shunter.cluster.target import Target, find_target, is_down
from shunter.errors import InputError
from shunter.kube.client import Client
from shunter.kube.errors import ApiError
from shunter.kube.log_reading import WHOLE, followed_lines
from shunter.kube.watching import follow
from shunter.launch import option_texts
from shunter.launch.options import LaunchOptions
from shunter.launch.preparing import ensure_namespace, prepared, secret_environment
from shunter.launch.programs import program_of
from shunter.launch.submitting import submit, wait
from shunter.launch.tracking import LOCAL, tracking
from shunter.operator.overview import is_pod_of, member, pod_selector

LAST_LINES_SECONDS = 5.0
"""How long to wait, once a job has ended, for the last lines of its containers."""
Result = TypeVar("Result")


@dataclasses.dataclass(frozen=True)
class Outcome:
    """How a job ended, and what it says of itself."""

    name: str
    namespace: str
    succeeded: bool
    message: str


def run(
    program: str = "",
    *,
    module: str = "",
    args: Sequence[str] = (),
    nodes: int = 1,
    gpus: int = 0,
    procs: int | None = None,
    cpus: str = "",
    memory: str = "",
    name: str = "",
    env: Mapping[str, str] | None = None,
    env_from: Sequence[str] = (),
    image: str = "",
    runtime: str = "",
    workdir: str = "",
    volumes: Sequence[str] = (),
    checkpoints: str = "",
    resume: str = "",
    grace: str = "",
    restarts: int | None = None,
    fabric: str = "",
    instance: str = "",
    queue: str = "",
    labels: Mapping[str, str] | None = None,
    deadline: str = "",
    mlflow: str = "",
    no_code: bool = False,
    snapshot: bool = False,
    namespace: str = "",
    kubeconfig: Path | None = None,
    context: str = "",
    timeout: float | None = None,
) -> Outcome:
    """Runs a script, or a module, as a job, prints the logs of its nodes, and returns how it ended. The options are those of
    `shunter run`, as texts where they are texts there; `timeout` is in seconds. Where no cluster is named the embedded one is
    used, and started when it is down. What is about the job goes to standard error.

    Raises InputError for what cannot be meant (nothing is created then), EnvironmentProblem without a cluster, and TimeoutError;
    the job goes on then, as it does when this is interrupted. Works in a notebook too, which runs a loop of its own.
    """
    if bool(program) == bool(module):
        raise InputError(f"run: program={program!r} and module={module!r}.", "Name one of the two.")
    chosen, root = program_of(program, module=module, arguments=args, workdir=workdir, is_in_image=no_code)
    if mlflow == LOCAL:
        raise InputError(f"mlflow={LOCAL!r}: only the command starts that server.", "Give the address of one that runs.")
    given: list[Json] = [{"name": key, "value": value} for key, value in (env or {}).items()]

    def options(environment: Sequence[Json]) -> LaunchOptions:
        return LaunchOptions(
            program=chosen,
            nodes=nodes,
            gpus=gpus,
            procs=procs,
            cpus=cpus,
            memory=memory,
            name=name,
            environment=tuple(environment),
            image=image,
            volumes=tuple(map(option_texts.volume, volumes)),
            checkpoints=option_texts.checkpoints(checkpoints),
            resume=resume,
            grace_seconds=option_texts.duration("--grace", grace),
            queue=queue,
            labels=dict(labels or {}),
            deadline_seconds=option_texts.duration("--deadline", deadline),
            tracking=tracking(mlflow, environment, os.environ),
            restarts=restarts,
        )

    async def submitted() -> Outcome:
        async with target.client as client:
            _say(f"on {target.description}")
            space = namespace or client.namespace
            ready = await prepared(
                target,
                options([*given, *await secret_environment(client, space, env_from)]),
                root,
                namespace=space,
                runtime=runtime,
                fabric=fabric,
                instance=instance,
                is_in_image=no_code,
                is_copied=snapshot,
                tell=_say,
            )
            if target.embedded is not None:
                await ensure_namespace(client, space, _say)
            made = await submit(
                client, ready.options, ready.code, runtime=ready.runtime, namespace=space, taken=ready.taken, tell=_say
            )
            title = made.job["metadata"]["name"]
            _say(f"TrainJob {space}/{title}; end it: shunter delete {title} -n {space}")
            return await outcome(client, made.job, timeout=timeout)

    # Before a cluster is started.
    options(given)
    target = _target(kubeconfig, context)
    return _run_to_end(submitted())


async def outcome(client: Client, job: Json, *, timeout: float | None = None) -> Outcome:
    """Prints the lines of a TrainJob's nodes, each after its rank, until it has ended. TimeoutError after so many seconds."""
    tails: dict[tuple[str, str, int], asyncio.Task[None]] = {}

    def tail(pod: Json) -> None:
        for container in pod.get("status", {}).get("containerStatuses", []):
            key = (pod["metadata"]["uid"], container["name"], container.get("restartCount", 0))
            if key not in tails and {"running", "terminated"} & set(container.get("state", {})):
                tails[key] = asyncio.create_task(_print_lines(client, job, pod, container["name"]))

    async def watch() -> None:
        async for seen in follow(client, PODS, job["metadata"]["namespace"], label_selector=pod_selector(job)):
            if is_pod_of(job, seen.object):
                tail(seen.object)

    watching = asyncio.create_task(watch())
    try:
        row = await wait(client, job, timeout=timeout)
        for pod in (await client.list(PODS, row.namespace, label_selector=pod_selector(job))).items:
            if is_pod_of(job, pod):
                tail(pod)
        if tails:
            await asyncio.wait(tails.values(), timeout=LAST_LINES_SECONDS)
        return Outcome(row.name, row.namespace, row.state == "Succeeded", row.message)
    finally:
        for task in (watching, *tails.values()):
            task.cancel()
        for error in await asyncio.gather(watching, *tails.values(), return_exceptions=True):
            if isinstance(error, ApiError):
                _say(f"not all of it is shown: {error.message}")


async def _print_lines(client: Client, job: Json, pod: Json, container: str) -> None:
    label = member(job, pod).label
    async for line in followed_lines(client, pod, container, WHOLE):
        print(f"[{label}] {line}", flush=True)


def _target(kubeconfig: Path | None, context: str) -> Target:
    if is_down(kubeconfig, context):
        started = lifecycle.start(lifecycle.Options(state_dir=default_state_dir()))
        _say(f"started an embedded cluster in {started.seconds:.1f} s (stop it with: shunter down)")
    return find_target(kubeconfig, context)


def _run_to_end(work: Coroutine[Any, Any, Result]) -> Result:
    """In a loop of its own; in another thread where this one has a loop that runs, as in a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    start: Callable[[Coroutine[Any, Any, Result]], Result] = asyncio.run
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(start, work).result()


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()
