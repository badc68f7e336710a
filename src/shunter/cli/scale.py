"""`scale`: changes the number of nodes of a job."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from shunter.api.formats.counts import count
from shunter.api.resources import TRAIN_JOBS
from shunter.api.titles import title_of
from shunter.cli.options.job_argument import JobArgument
from shunter.cli.output.console import say
from shunter.cli.target import ContextOption, KubeconfigOption, NamespaceOption, connect
from shunter.jobs.lookup import find
from shunter.kube.client import Client
from shunter.launch.node_counts import require_scalable
from shunter.launch.scaling import scale_pytorchjob, scale_trainjob, wait_scaled
from shunter.operator.overview import FINISHED_STATES


def scale(
    job: JobArgument,
    nodes: Annotated[int, typer.Option("--nodes", metavar="N", help="New number of nodes.")],
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = "",
    namespace: NamespaceOption = "",
) -> None:
    """Change the number of nodes of a TrainJob or an elastic PyTorchJob.

    A TrainJob is stopped first: its pods receive SIGTERM and can save within their grace period. It then starts with the new
    number of nodes, from its latest checkpoint if its program saves any. A suspended TrainJob stays suspended. An elastic
    PyTorchJob keeps training while Workers join and leave. If this command is interrupted, run it again.
    """
    asyncio.run(scaled(connect(kubeconfig, context).client, job, namespace, nodes))


async def scaled(client: Client, name: str, namespace: str, nodes: int) -> None:
    """Scales the job of this name, and prints what happens."""
    async with client:
        resource, job = await find(client, name, namespace)
        title = title_of(job)
        require_scalable(job, nodes)
        try:
            if resource != TRAIN_JOBS:
                done = await scale_pytorchjob(client, resource, job, nodes)
                if done.job is done.before:
                    say(f"{title} has {count(nodes, 'node')} already")
                    return
                then = "it stays suspended" if done.is_suspended else "torchrun forms a new process group"
                say(f"{title}: {done.nodes} to {count(nodes, 'node')}, by its Workers; {then}")
                if (job["spec"].get("elasticPolicy") or {}).get("metrics"):
                    say("its autoscaler may change that again (spec.elasticPolicy.metrics)")
                return
            done = await scale_trainjob(client, job, nodes)
            if done.is_suspended:
                say(f"{title} has {count(nodes, 'node')} when it is resumed; it stays suspended")
                return
            if done.job is done.before:
                say(f"{title} has {count(nodes, 'node')} already")
            else:
                change = f"{done.nodes} to {count(nodes, 'node')}"
                say(f"{title}: {change}; its pods end, and start again with the new number")
            state = await wait_scaled(client, done.job, nodes, say)
        except asyncio.CancelledError:
            say(f"interrupted; run it again to complete the scaling of {title}: shunter scale {name} --nodes {nodes}")
            raise
        named = f"{job['metadata']['name']} -n {job['metadata']['namespace']}"
        ended = f"{title} starts on {count(nodes, 'node')}"
        if state in FINISHED_STATES:
            ended = f"{title} has ended meanwhile ({state})"
        say(f"{ended}; see: shunter logs -f {named}")
