"""Whether a job may use the bucket that its checkpoints go to, asked with its own credentials before it is created."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable, Iterable

from shunter.api.meta import Json
from shunter.api.resources import SECRETS
from shunter.cluster.node.content.expansion import expand
from shunter.errors import InputError
from shunter.kube.client import Client
from shunter.kube.errors import Forbidden, NotFound
from shunter.launch.checkpoints.bucket_checkpoints import KEYS, has_keys, refusal_of_s3
from shunter.launch.checkpoints.location import ENDPOINT_VARIABLES
from shunter.launch.options import LaunchOptions

_VARIABLES = (*KEYS, *ENDPOINT_VARIABLES, "AWS_REGION", "AWS_DEFAULT_REGION")


async def s3_variables(client: Client, namespace: str, environment: Iterable[Json]) -> dict[str, str]:
    """The settings of S3 in the variables of a job, also in those that a Secret holds; none of a Secret that may not be read."""
    found: dict[str, str] = {}
    secrets: dict[str, Json] = {}
    for variable in environment:
        if variable["name"] not in _VARIABLES:
            continue
        source = (variable.get("valueFrom") or {}).get("secretKeyRef")
        if source is None:
            found[variable["name"]] = expand(str(variable.get("value", "")), {})
            continue
        name = source["name"]
        if name not in secrets:
            try:
                secrets[name] = (await client.get(SECRETS, name, namespace)).get("data") or {}
            except (Forbidden, NotFound):
                secrets[name] = {}
        if (value := secrets[name].get(source["key"])) is not None:
            found[variable["name"]] = base64.b64decode(value).decode(errors="replace")
    return found


async def require_bucket(
    client: Client,
    namespace: str,
    options: LaunchOptions,
    *,
    may_write: bool,
    notify: Callable[[str], None],
    is_here: bool = False,
) -> None:
    """InputError if the checkpoint location is in S3 and its bucket does not exist, or the job's own credentials are wrong or,
    for a job of this machine (`is_here`), may not write to it. `notify` gets a warning if S3 does not respond, the job's region
    is not the bucket's, or the credentials may not list the bucket or (checked with `may_write`) not write to it: pods in another
    network may be allowed to. Nothing is checked for jobs that get their credentials in their pods, by an identity."""
    place = options.checkpoints
    if place is None or not place.url.startswith("s3://"):
        return
    variables = await s3_variables(client, namespace, options.environment)
    if not has_keys(variables):
        return
    refusal, doubt = await asyncio.to_thread(refusal_of_s3, place.url, variables, may_write=may_write, is_here=is_here)
    checked = f"{place.url}, checked with the job's credentials"
    if refusal:
        raise InputError(
            f"--checkpoints {checked}: {refusal}.",
            "Name another bucket, or other credentials: --env-from secret/NAME.",
        )
    if doubt:
        notify(
            f"warning: {checked} from this machine: {doubt}. If the pods of the job get the same response, the job fails when "
            f"it starts or first saves; to see that, run shunter logs {options.name or 'JOB'} -n {namespace}"
        )
