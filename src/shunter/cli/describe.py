"""`describe`: one job in full."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

from rich.markup import escape

from shunter.api.meta import Json
from shunter.cli.options.job_argument import JobArgument
from shunter.cli.output.console import output, say
from shunter.cli.output.diagnosed import diagnosed
from shunter.cli.output.saved import saved_by
from shunter.cli.target import ContextOption, KubeconfigOption, NamespaceOption, connect
from shunter.cli.tracking import shown_run
from shunter.cluster.target import Target
from shunter.fabrics.chosen import asked_profile, network_lines
from shunter.jobs.description import description
from shunter.jobs.evidence import evidence_of
from shunter.jobs.finding import find, own_pods
from shunter.jobs.last_log_lines import last_log_lines
from shunter.jobs.logs.network import networks_in_log
from shunter.jobs.logs.progress import progress_in_logs
from shunter.launch.marks import FABRIC
from shunter.launch.tracking import tracked_run
from shunter.operator.training_progress import progress


def describe(
    job: JobArgument, kubeconfig: KubeconfigOption = None, context: ContextOption = "", namespace: NamespaceOption = ""
) -> None:
    """Show one job: state, conditions, pods by rank, failures with their last log lines, events."""
    for line in asyncio.run(described(connect(kubeconfig, context), job, namespace)):
        output().print(escape(line) if line.startswith(" ") else f"[bold]{escape(line)}[/]", soft_wrap=True)


async def described(target: Target, wanted: str, namespace: str) -> list[str]:
    client = target.client
    async with client:
        _, job = await find(client, wanted, namespace, on_refusal=say)
        evidence = await evidence_of(client, job)
        pods = own_pods(job, evidence.pods)
        logs, logged, networks = await asyncio.gather(
            last_log_lines(client, job, pods), progress_in_logs(client, [job]), networks_in_log(client, job, pods)
        )
    how_far = saved_by(target)(progress(job) or logged.found.get(job["metadata"]["uid"]), job)
    network, warning = network_lines(networks, asked_profile((job["metadata"].get("annotations") or {}).get(FABRIC, ""), pods))
    beside = (("MLflow", mlflow_run(job)), ("Network", network), ("Warning", warning))
    return list(description(job, evidence, logs, datetime.now(UTC), how_far, beside, diagnosed(job, evidence)))


def mlflow_run(job: Json) -> str:
    """Where the job logs to; empty when it does not."""
    run = tracked_run(job)
    return "" if run is None else shown_run(run)
