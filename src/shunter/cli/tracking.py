"""MLflow for `run` and `describe`: the embedded cluster's own server, and messages about where a job logs to."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from shunter.cli.output.console import busy, say
from shunter.cluster import mlflow_server
from shunter.errors import InputError
from shunter.launch.tracking import LOCAL, NONE, URI, TrackedRun, browser_address, run_page, tracked_run, uri_text

if TYPE_CHECKING:
    from shunter.api.meta import Json
    from shunter.cluster.target import Target
    from shunter.launch.options import LaunchOptions


def require_local_server(mlflow: str) -> None:
    """Raises EnvironmentProblem if --mlflow requests the embedded cluster's server and MLflow is not installed."""
    if mlflow == LOCAL and not mlflow_server.is_installed():
        from shunter.cluster import mlflow_start

        raise mlflow_start.not_installed()


def local_address(target: Target, mlflow: str) -> str:
    """The address at which pods reach the cluster's own server, running or not; empty unless --mlflow requests it. Raises
    InputError on other clusters than the embedded one."""
    if mlflow != LOCAL:
        return ""
    if target.embedded is None:
        raise InputError(
            f"--mlflow {LOCAL} is a server of the embedded cluster, and {target.description} is another one.",
            "Give the address of a server that its pods reach: --mlflow http://HOST:PORT",
        )
    from shunter.cluster import mlflow_start  # imported only for jobs with a server

    return mlflow_server.pod_address(mlflow_start.port(target.embedded))


async def start_local_server(target: Target, uri: str) -> None:
    """Starts the cluster's own server if the job logs to it, and returns when it answers."""
    if target.embedded is None or not mlflow_server.is_own(uri):
        return
    from shunter.cluster import mlflow_start

    with busy("starting MLflow"):
        await asyncio.to_thread(mlflow_start.start, target.embedded)


def print_server(options: LaunchOptions) -> None:
    """Prints an address that comes from the environment and not from the command line."""
    if options.tracking is not None and options.tracking.option.startswith(URI):
        say(f"MLflow: {options.tracking.uri}, the {URI} of this shell; --mlflow {NONE} leaves it out")


def print_run(job: Json) -> None:
    """Prints the MLflow run of a job, if it has one."""
    if (run := tracked_run(job)) is not None:
        say(f"MLflow: {shown_run(run)}")


def shown_run(run: TrackedRun) -> str:
    """The address of the run's page if the program has reported the run; else server, experiment and name of the run."""
    if page := run_page(run):
        return uri_text(page)
    server = uri_text(browser_address(run.uri).rstrip("/"))
    texts = [server or f"the {URI} of a Secret", f"experiment {run.experiment}"]
    return ", ".join([*texts, f"run {run.run}"] if run.run else texts)
