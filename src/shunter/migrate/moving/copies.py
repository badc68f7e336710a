"""Copies of the jobs that a plan deletes, from which a rollback recreates them: each is in a ConfigMap of the job's namespace.

The variables and arguments of a job may contain tokens, so users who may not read the jobs of a namespace must not find them in
the journal's namespace either: the records there have only the SHA-256 of the copy.
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
    """The name of a copy's ConfigMap. It depends on the content, so a retry after a kill writes the same one."""
    return f"shunter-migration-{plan_id}-copy-{sha256[:32]}"


async def save(client: Client, plan_id: str, namespace: str, body: Json, sha256: str) -> None:
    """Writes a copy. ApiError, with a remedy, if it may not be written or is too large."""
    text = msgspec.json.encode(body).decode()
    title = name(plan_id, sha256)
    metadata = {"name": title, "namespace": namespace, "labels": {PLAN_OF_COPY: plan_id}}
    try:
        try:
            await client.create(CONFIG_MAPS, CONFIG_MAPS.typed({"metadata": metadata, "data": {_KEY: text}}))
        except AlreadyExists:
            await client.patch(CONFIG_MAPS, title, namespace, {"data": {_KEY: text}})
    except Forbidden as error:
        raise Forbidden(error.status, remedy=RIGHTS) from error
    except (Invalid, TooLarge) as error:
        size = f"Its copy has {len(text.encode()):,} bytes, and a ConfigMap takes 1 MiB"
        raise type(error)(
            error.status, remedy=f"{size}: back the job up (shunter migrate backup) and delete it by hand."
        ) from error


async def saved(client: Client, plan_id: str, namespace: str, sha256: str) -> Json:
    """A copy; empty if it no longer exists, or was changed. ApiError if it may not be read."""
    try:
        found: Json = await client.get(CONFIG_MAPS, name(plan_id, sha256), namespace)
        body: Json = msgspec.json.decode((found.get("data") or {}).get(_KEY, ""), type=dict)
        return body if digest(body) == sha256 else {}
    except (NotFound, msgspec.MsgspecError, KeyError, TypeError, AttributeError):
        return {}
