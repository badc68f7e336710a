"""What Helm installed: a release keeps its manifest in a Secret, as JSON, gzipped, in base64 twice."""

from __future__ import annotations

import base64
import gzip
import zlib
from collections.abc import Iterable

import msgspec

from shunter.api.late_patterns import late_pattern
from shunter.api.meta import Json
from shunter.api.resources import SECRETS
from shunter.errors import InputError
from shunter.kube.client import Client

TYPE = "helm.sh/release.v1"
_NAME = late_pattern(r"sh\.helm\.release\.v1\.(?P<release>.+)\.v(?P<revision>\d+)")


class Release(msgspec.Struct, frozen=True):
    """The part of a release that we look at."""

    name: str = ""
    manifest: str = ""


async def manifest_of_release(client: Client, namespace: str, name: str) -> str:
    """The manifest of the newest revision, a YAML stream. InputError unless there is one release of this name."""
    page = await client.list(SECRETS, namespace, label_selector=f"owner=helm,name={name}")
    revisions = [secret for secret in page.items if _NAME.fullmatch(secret["metadata"]["name"])]
    if not revisions:
        where = f"namespace {namespace}" if namespace else "any namespace"
        raise InputError(f"there is no Helm release {name} in {where}.", "List them with: helm list -A")
    places = sorted({secret["metadata"]["namespace"] for secret in revisions})
    if len(places) > 1:
        raise InputError(f"there are Helm releases {name} in the namespaces {', '.join(places)}.", "Name one of them with -n.")
    return release_of(max(revisions, key=_revision)).manifest


def standing(secrets: Iterable[Json]) -> list[Json]:
    """The newest revision of each release, in whatever status, and the deployed one if it is older: an upgrade reads both.
    Nothing for an uninstalled release whose history is kept."""
    found: dict[tuple[str, str], list[Json]] = {}
    for secret in secrets:
        match = _NAME.fullmatch(secret["metadata"]["name"])
        name = match["release"] if match else secret["metadata"]["name"]
        found.setdefault((secret["metadata"].get("namespace", ""), name), []).append(secret)
    stand = []
    for revisions in found.values():
        newest = max(revisions, key=_revision)
        if _status(newest) != "uninstalled":
            stand += [secret for secret in revisions if secret is newest or _status(secret) == "deployed"]
    return stand


def release_of(secret: Json) -> Release:
    """The release in a Secret. InputError for one that Helm did not write."""
    try:
        packed = base64.b64decode(base64.b64decode(secret["data"]["release"]))
        return msgspec.json.decode(gzip.decompress(packed) if packed.startswith(b"\x1f\x8b") else packed, type=Release)
    except (KeyError, ValueError, zlib.error, EOFError, OSError) as error:
        name = secret["metadata"]["name"]
        raise InputError(f"Secret {name}: data.release is not what Helm writes: {error}.") from error


def _status(secret: Json) -> str:
    return str((secret["metadata"].get("labels") or {}).get("status", ""))


def _revision(secret: Json) -> int:
    match = _NAME.fullmatch(secret["metadata"]["name"])
    return int(match["revision"]) if match else 0
