"""`describe`: one job in full."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from rich.text import Text

from shunter.api.meta import Json, annotations_of
from shunter.cli.options.job_argument import JobArgument
from shunter.cli.options.watch import WatchOption
from shunter.cli.output.console import output, say
from shunter.cli.output.diagnosed import diagnosed
from shunter.cli.output.live import refuse_without_screen, show_live
from shunter.cli.output.saved import saved_by
from shunter.cli.target import ContextOption, KubeconfigOption, NamespaceOption, connect
from shunter.cli.tracking import shown_run
from shunter.cluster.target import Target
from shunter.fabrics.nccl_log import network_lines, requested_profile
from shunter.jobs.description import description
from shunter.jobs.evidence import evidence_of
from shunter.jobs.last_log_lines import last_log_lines
from shunter.jobs.logs.network import networks_in_log
from shunter.jobs.logs.progress import progress_in_logs
from shunter.jobs.logs.visible_text import visible_line
from shunter.jobs.lookup import OnRefusal, find, ignore, own_pods
from shunter.launch.annotations import FABRIC
from shunter.launch.tracking import tracked_run
from shunter.operator.training_progress import progress


def describe(
    job: JobArgument,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = "",
    namespace: NamespaceOption = "",
    watch: WatchOption = False,
) -> None:
    """Show one job: state, conditions, pods by rank, failures with their last log lines, events."""
    if watch:
        refuse_without_screen("Leave -w out.")
    target = connect(kubeconfig, context)
    if watch:
        show_live(target.client, lambda: read(target, job, namespace), lambda lines, _, height: screen(lines, height))
        return
    for line in asyncio.run(described(target, job, namespace)):
        output().print(styled(printed(line)), soft_wrap=True)


def printed(line: str) -> str:
    """The line without control characters, which could clear the terminal or hide what follows. Newlines stay."""
    return "\n".join(map(visible_line, line.split("\n")))


def styled(line: str, *, cut: bool = False) -> Text:
    """The line, headings in bold; with `cut` it ends in ... where it is too long for the screen."""
    style = "" if line.startswith(" ") else "bold"
    return Text(line, style=style, overflow="ellipsis" if cut else None, no_wrap=cut or None)


def screen(lines: Sequence[str], height: int) -> list[Text]:
    """The first lines, and the number of lines left out, in at most `height` lines."""
    most = height if len(lines) <= height else height - 1
    shown = [styled(visible_line(line), cut=True) for line in lines[:most]]
    return [*shown, *([Text(f"and {len(lines) - most} more lines", style="dim")] if len(lines) > most else [])]


async def described(target: Target, name: str, namespace: str) -> list[str]:
    """The lines to print. Closes the target's client; prints refusals on standard error."""
    async with target.client:
        return await read(target, name, namespace, on_refusal=say)


async def read(target: Target, name: str, namespace: str, on_refusal: OnRefusal = ignore) -> list[str]:
    """The lines about the current state of the job."""
    client = target.client
    _, job = await find(client, name, namespace, on_refusal=on_refusal)
    evidence = await evidence_of(client, job)
    pods = own_pods(job, evidence.pods)
    logs, logged, networks = await asyncio.gather(
        last_log_lines(client, job, pods), progress_in_logs(client, [job]), networks_in_log(client, job, pods)
    )
    reported = saved_by(target)(progress(job) or logged.found.get(job["metadata"]["uid"]), job)
    network, warning = network_lines(networks, requested_profile(annotations_of(job).get(FABRIC, ""), pods))
    details = (("MLflow", mlflow_run(job)), ("Network", network), ("Warning", warning))
    now = client.now()
    return list(description(job, evidence, logs, now, reported, details, diagnosed(job, evidence, now)))


def mlflow_run(job: Json) -> str:
    """The MLflow run of the job; empty if it has none."""
    run = tracked_run(job)
    return "" if run is None else shown_run(run)
