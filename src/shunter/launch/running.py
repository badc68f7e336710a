"""Runs a program on a cluster from Python: finds the cluster as the command does, prints the logs, returns the outcome."""

from __future__ import annotations

import asyncio
import dataclasses
import sys
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from shunter.api.meta import Json
from shunter.api.resources import TRAIN_JOBS
from shunter.argument_types import typed
from shunter.cluster.lifecycle import start_default
from shunter.cluster.target import Target, find_target, is_down
from shunter.errors import InputError
from shunter.jobs.following.follower import JobFollower
from shunter.jobs.following.outcome import outcome
from shunter.jobs.following.pipe_display import PipeDisplay
from shunter.kube.client import Client
from shunter.launch import option_texts
from shunter.launch.options import LaunchOptions
from shunter.launch.preparing import make_embedded_place, prepared, require_understood, secret_environment
from shunter.launch.programs import program_of
from shunter.launch.submitting import submit
from shunter.launch.tracking import LOCAL
from shunter.operator.overview import overview

Result = TypeVar("Result")


@dataclasses.dataclass(frozen=True)
class Outcome:
    """How a job ended. Of one that failed, or was deleted, the message is the sentence that the command ends with."""

    name: str
    namespace: str
    succeeded: bool
    message: str


@typed
def run(
    program: str | Path = "",
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
    workdir: str | Path = "",
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
    """Runs a script, or a module, as a job, prints the logs of its containers, and returns how it ended. The options are those of
    `shunter run`, as texts where they are texts there; `timeout` is in seconds. Where no cluster is named the embedded one is
    used, and started when it is down. What is about the job goes to standard error.

    Raises InputError for what cannot be meant (nothing is created then), EnvironmentProblem without a cluster, and TimeoutError;
    the job goes on then, as it does when this is interrupted. Works in a notebook too, which runs a loop of its own.
    """
    if bool(program) == bool(module):
        raise InputError(f"run: program={program!r} and module={module!r}.", "Name one of the two.")
    if timeout is not None and not timeout > 0:
        raise InputError(f"run: timeout={timeout}; it must be more than 0.", "Leave it out to follow the job until it ends.")
    chosen, root = program_of(str(program), module=module, arguments=args, workdir=str(workdir), is_in_image=no_code)
    if mlflow == LOCAL:
        raise InputError(
            f"mlflow={LOCAL!r}: only the command shunter run starts that server.", "Give the address of one that runs."
        )
    given = [option_texts.variable(key, value) for key, value in (env or {}).items()]

    def options(environment: Sequence[Json]) -> LaunchOptions:
        return option_texts.launch_options(
            chosen,
            environment,
            nodes=nodes,
            gpus=gpus,
            procs=procs,
            cpus=cpus,
            memory=memory,
            name=name,
            image=image,
            volumes=volumes,
            checkpoints=checkpoints,
            resume=resume,
            grace=grace,
            queue=queue,
            labels=labels or {},
            deadline=deadline,
            mlflow=mlflow,
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
                notify=_say,
            )
            await make_embedded_place(target, ready.options, space, _say)
            made = await submit(
                client, ready.options, ready.code, runtime=ready.runtime, namespace=space, taken=ready.taken, notify=_say
            )
            title = made.job["metadata"]["name"]
            _say(f"TrainJob {space}/{title}; end it: shunter delete {title} -n {space}")
            return await followed(client, made.job, timeout=timeout)

    # Before a cluster is started.
    options(given)
    require_understood(env_from, fabric, instance, namespace)
    target = _target(kubeconfig, context)
    return _run_to_end(submitted())


async def followed(client: Client, job: Json, *, timeout: float | None = None) -> Outcome:
    """Follows a TrainJob to its end, as `shunter run` does in a pipe, and returns how it ended. TimeoutError after so many
    seconds."""
    follower = JobFollower(client, TRAIN_JOBS, job, PipeDisplay())
    end = await follower.run_until(None if timeout is None else asyncio.get_running_loop().time() + timeout)
    if end is None:
        row = overview(follower.job)
        why = f": {follower.cause}" if follower.cause is not None else ""
        raise TimeoutError(f"{row.title} is {row.state} and did not end within {timeout:g} s{why}")
    ended = await outcome(client, end, job)
    for line in (ended.sentence, *(f"  {line}" for line in (*ended.reasons[1:], *ended.faults))):
        _say(line)
    message = ended.job.message if ended.succeeded else ended.sentence
    return Outcome(ended.job.name, ended.job.namespace, ended.succeeded, message)


def _target(kubeconfig: Path | None, context: str) -> Target:
    if is_down(kubeconfig, context):
        _say(start_default())
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
