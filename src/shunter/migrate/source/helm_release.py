"""What Helm installed: a release keeps its manifest in a Secret, as JSON, gzipped, in base64 twice."""

from __future__ import annotations

import base64
import gzip
import re
import zlib

import msgspec

from shunter.api.meta import Json
from shunter.api.resources import SECRETS
from shunter.errors import InputError
from shunter.kube.client import Client

TYPE = "helm.sh/release.v1"
_NAME = re.compile(r"sh\.helm\.release\.v1\.(?P<release>.+)\.v(?P<revision>\d+)")


class Release(msgspec.Struct, frozen=True):
    """The part of a release that we look at."""

    name: str = ""
    manifest: str = ""


async def manifest_of_release(client: Client, namespace: str, name: str) -> str:
    """The manifest of the newest revision, a YAML stream. InputError when there is no such release."""
    page = await client.list(SECRETS, namespace, label_selector=f"owner=helm,name={name}")
    revisions = [secret for secret in page.items if _NAME.fullmatch(secret["metadata"]["name"])]
    if not revisions:
        where = f"namespace {namespace}" if namespace else "any namespace"
        raise InputError(f"there is no Helm release {name} in {where}.", "List them with: helm list -A")
    return release_of(max(revisions, key=_revision)).manifest


def release_of(secret: Json) -> Release:
    """The release in a Secret. InputError for one that Helm did not write."""
    try:
        packed = base64.b64decode(base64.b64decode(secret["data"]["release"]))
        return msgspec.json.decode(gzip.decompress(packed) if packed.startswith(b"\x1f\x8b") else packed, type=Release)
    except (KeyError, ValueError, zlib.error, EOFError, OSError) as error:
        name = secret["metadata"]["name"]
        raise InputError(f"Secret {name}: data.release is not what Helm writes: {error}.") from error


def _revision(secret: Json) -> int:
    match = _NAME.fullmatch(secret["metadata"]["name"])
    return int(match["revision"]) if match else 0
