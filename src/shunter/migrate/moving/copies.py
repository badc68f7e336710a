"""Copies of the jobs that a plan deletes, by which a rollback brings them back: each in a ConfigMap of the job's own namespace.

A job may hold tokens in its variables and arguments. Who may not read the jobs of a namespace may not read them in the journal's
namespace either: the records that are kept there have the SHA-256 of the copy, and no more.
"""

from __future__ import annotations

import msgspec

from shunter.api.meta import Json
from shunter.api.resources import CONFIG_MAPS
from shunter.kube.client import Client
from shunter.kube.errors import AlreadyExists, Forbidden, Invalid, NotFound, TooLarge
from shunter.migrate.conversion.cleaning import digest

PLAN_OF_COPY = "migrate.shunter.dev/deleted-by"
"""Label on a copy: the id of the plan."""
RIGHTS = "Deleting a job takes get, create and patch of ConfigMaps in its namespace, where a copy of it is kept."
_KEY = "object"


def name(plan_id: str, sha256: str) -> str:
    """The ConfigMap of a copy: named by what is in it, so that whoever comes after a kill writes the same."""
    return f"shunter-migration-{plan_id}-copy-{sha256[:32]}"


async def keep(client: Client, plan_id: str, namespace: str, body: Json, sha256: str) -> None:
    """Writes a copy. ApiError, with a remedy, when it may not be written or is too large."""
    text = msgspec.json.encode(body).decode()
    title = name(plan_id, sha256)
    metadata = {"name": title, "namespace": namespace, "labels": {PLAN_OF_COPY: plan_id}}
    config_map: Json = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {_KEY: text}}
    try:
        try:
            await client.create(CONFIG_MAPS, config_map)
        except AlreadyExists:
            await client.patch(CONFIG_MAPS, title, namespace, {"data": {_KEY: text}})
    except Forbidden as error:
        raise Forbidden(error.status, remedy=RIGHTS) from error
    except (Invalid, TooLarge) as error:
        size = f"Its copy has {len(text.encode()):,} bytes, and a ConfigMap takes 1 MiB"
        raise type(error)(
            error.status, remedy=f"{size}: back the job up (shunter migrate backup) and delete it by hand."
        ) from error


async def kept(client: Client, plan_id: str, namespace: str, sha256: str) -> Json:
    """A copy; empty when it is gone, or is not what was written. ApiError when it may not be read."""
    try:
        found: Json = await client.get(CONFIG_MAPS, name(plan_id, sha256), namespace)
        body: Json = msgspec.json.decode((found.get("data") or {}).get(_KEY, ""), type=dict)
        return body if digest(body) == sha256 else {}
    except (NotFound, msgspec.MsgspecError, KeyError, TypeError, AttributeError):
        return {}
