"""Where a job logs its metrics to MLflow: the server's address, and the variables that a program gets. Pure.

They are MLflow's own, and two that say who the job is, so that all of its starts go on with one run, as
examples/recipes/tracking.py does. A manifest that sets them by hand gets the same.
"""

from __future__ import annotations

import dataclasses
import ipaddress
import secrets
from collections.abc import Iterable, Mapping
from urllib.parse import quote, urlsplit

from shunter.api.core import variables_of
from shunter.api.meta import Json, Struct
from shunter.cluster import mlflow_server
from shunter.errors import InputError

URI = "MLFLOW_TRACKING_URI"
EXPERIMENT = "MLFLOW_EXPERIMENT_NAME"
RUN = "MLFLOW_RUN_NAME"
JOB = "SHUNTER_JOB"
JOB_ID = "SHUNTER_JOB_ID"
"""Tells a job from one of the same name that was deleted. A pod knows neither its job's uid nor when that was created."""
LOCAL = "local"
"""In place of an address: the server that the embedded cluster runs."""
NONE = "none"
TIMEOUT_SECONDS = 5
"""The timeout of a request to the server. MLflow's default is 120 s, seven times."""
_RETRIES = 1
_NEITHER_LOCAL_NOR_ADDRESS = "Write --mlflow http://HOST:PORT, or --mlflow local for a server on the embedded cluster."


@dataclasses.dataclass(frozen=True)
class Tracking:
    """A server of MLflow that a job logs to, checked: InputError names option, value and remedy. Without a `uri` the job's
    environment says where it is. `job_id` is random unless given."""

    uri: str
    option: str = "--mlflow"
    """What the address was given by, for messages."""
    job_id: str = dataclasses.field(default_factory=lambda: new_job_id())

    def __post_init__(self) -> None:
        if self.uri:
            require_uri(self.option, self.uri)


class TrackedRun(Struct, frozen=True):
    """Where a job logs to. The ids are empty until its program has reported them."""

    uri: str
    experiment: str
    run: str
    experiment_id: str = ""
    run_id: str = ""


def new_job_id() -> str:
    """Ten random hexadecimal digits."""
    return secrets.token_hex(5)


def tracking(given: str, variables: Iterable[Json], shell: Mapping[str, str], *, local: str = "") -> Tracking | None:
    """What --mlflow means, beside the job's own variables; those of the shell count where neither says anything. `local` is the
    address of the cluster's own server. None for no tracking, and for that server where its address is not known yet."""
    names = {variable["name"] for variable in variables}
    if given and given != NONE and URI in names:
        raise InputError(
            f"--mlflow {uri_text(given)} and the variable {URI} both name an MLflow server.", "Leave one of them out."
        )
    if given == NONE:
        return None
    if given == LOCAL:
        return Tracking(local) if local else None
    if given:
        return Tracking(given)
    if URI in names:
        return Tracking("")
    return Tracking(shell[URI], option=f"{URI} of this shell,") if shell.get(URI) else None


def require_uri(option: str, uri: str) -> None:
    """InputError for what is no address of a server that pods can reach, or contains credentials."""
    if uri == "databricks" or uri.startswith(("databricks://", "databricks-uc", "uc:", "arn:")):
        return
    what = f"{option} {uri_text(uri)}"
    try:
        parts = urlsplit(uri)
        host, _ = parts.hostname or "", parts.port
    except ValueError as error:
        raise InputError(f"{what}: {error}.", _remedy(option)) from error
    if "@" in parts.netloc:
        raise InputError(
            f"{what} contains credentials, which everyone who may read the job could read.",
            "Remove them from the address, and put MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD into a Secret and add "
            "--env-from secret/NAME.",
        )
    if parts.scheme not in ("http", "https") or not host or any(blank in uri for blank in " \t\n"):
        raise InputError(f"{what} is not the address of an MLflow server that pods can reach.", _remedy(option))
    if parts.query or parts.fragment:
        raise InputError(f"{what} is the address of a web page, not of the server.", f"Write {parts.scheme}://{parts.netloc}.")
    if host == "localhost" or _is_loopback(host):
        raise InputError(f"{what}: in a pod, that address is the pod itself.", _remedy(option))


def require_given_uri(variables: Iterable[Json]) -> None:
    """InputError for an address among a job's own variables that pods cannot reach."""
    for variable in variables:
        if variable["name"] == URI and variable.get("value"):
            require_uri(f"--env {URI}", variable["value"])


def variables(tracking: Tracking, namespace: str, name: str) -> dict[str, str]:
    """The variables of a job of this name."""
    return {
        **({URI: tracking.uri} if tracking.uri else {}),
        EXPERIMENT: namespace,
        RUN: name,
        "MLFLOW_HTTP_REQUEST_TIMEOUT": str(TIMEOUT_SECONDS),
        "MLFLOW_HTTP_REQUEST_MAX_RETRIES": str(_RETRIES),
        JOB: f"{namespace}/{name}",
        JOB_ID: tracking.job_id,
    }


def renamed(variables: Iterable[Json], earlier: str, later: str, *, job_id: str) -> list[Json]:
    """A job's variables for another job, `namespace/name`, of the same program: that gets a run of its own."""
    own = {
        RUN: (earlier.partition("/")[2], later.partition("/")[2]),
        JOB: (earlier, later),
    }
    found = []
    for variable in variables:
        name, value = variable["name"], variable.get("value")
        if name == JOB_ID and value is not None:
            value = job_id
        elif name in own and value == own[name][0]:
            value = own[name][1]
        found.append(variable if value is None else {**variable, "value": value})
    return found


def with_uri(job: Json, uri: str) -> Json:
    """A copy of a TrainJob that logs to another address of the same server."""
    trainer = job["spec"]["trainer"]
    moved = [{**variable, "value": uri} if variable["name"] == URI else variable for variable in trainer["env"]]
    return {**job, "spec": {**job["spec"], "trainer": {**trainer, "env": moved}}}


def tracked_run(job: Json) -> TrackedRun | None:
    """Where a TrainJob logs to, by its own variables and what its program reported; None where neither says so."""
    values = variables_of(job["spec"].get("trainer") or {})
    if URI not in values:
        return None
    metrics = ((job.get("status") or {}).get("trainerStatus") or {}).get("metrics") or ()
    reported = {metric["name"]: metric.get("value", "") for metric in metrics}
    return TrackedRun(
        values[URI],
        values.get(EXPERIMENT) or "Default",
        values.get(RUN, ""),
        reported.get("mlflow.experiment", ""),
        reported.get("mlflow.run", ""),
    )


def browser_address(uri: str) -> str:
    """An address in the variables of pods, as a browser on this machine reaches it; it knows no Services of an embedded
    cluster."""
    return mlflow_server.own_address(uri)


def run_page(run: TrackedRun) -> str:
    """The page of a run in MLflow, as a browser on this machine reaches it; empty while its program has not reported the ids, and
    for a server that has no such page."""
    server = browser_address(run.uri).rstrip("/")
    if not (run.run_id and run.experiment_id and server.startswith("http")):
        return ""
    return f"{server}/#/experiments/{quote(run.experiment_id, safe='')}/runs/{quote(run.run_id, safe='')}"


def uri_text(uri: str) -> str:
    """An address without what stands before an @ in it."""
    before, at, after = uri.rpartition("@")
    scheme, slashes, _ = before.partition("//")
    return f"{f'{scheme}//' if slashes else ''}***@{after}" if at else uri


def _remedy(option: str) -> str:
    unset = f" --mlflow {NONE} leaves {URI} out." if option.startswith(URI) else ""
    return f"{_NEITHER_LOCAL_NOR_ADDRESS}{unset}"


def _is_loopback(host: str) -> bool:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified
