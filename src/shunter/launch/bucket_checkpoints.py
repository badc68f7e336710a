"""Checkpoints in buckets, listed with the credentials of the user: s3:// by boto3, other URLs by fsspec, where those are
installed. Which of them are complete is said by `checkpoints.steps_of`, as for directories.
"""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib import import_module
from typing import Any

from shunter.api.meta import Json
from shunter.errors import InputError
from shunter.launch.checkpoint_location import ENDPOINT_VARIABLES, endpoint_of
from shunter.launch.checkpoints import COMPLETE, SavedStep, StoredFile, steps_of

CONNECT_SECONDS, READ_SECONDS = 5, 15
LONGEST_REASON = 250
"""Characters: some libraries tell everything that they tried."""


def steps_in_bucket(url: str, endpoint: str = "") -> list[SavedStep]:
    """The checkpoints below a URL, the newest step first; none where there is nothing. `endpoint` is a server of one's own that
    speaks S3, else the environment says where. InputError where it cannot be listed from here, with the reason as its message."""
    try:
        return steps_of(_s3_files(url, endpoint) if url.startswith("s3://") else _fsspec_files(url))
    except ImportError as error:
        packages = "boto3 is" if url.startswith("s3://") else "fsspec and the package of this store are"
        raise InputError(f"{_sentence(error)}; it is listed where {packages} installed") from error
    except Exception as error:  # of a library that may be any: no credentials, no right, no bucket, no server
        raise InputError(_sentence(error)) from error


def saved_in_bucket(job: Json, url: str) -> tuple[list[SavedStep], str]:
    """What a bucket holds below a URL, on the server that a job's variables name, and why it cannot be listed from here; empty if
    it can."""
    try:
        return steps_in_bucket(url, endpoint_of(job)), ""
    except InputError as error:
        return [], error.message


def _sentence(error: Exception) -> str:
    return textwrap.shorten(str(error) or type(error).__name__, LONGEST_REASON, placeholder=" ...").rstrip(".")


def _s3_files(url: str, endpoint: str) -> Iterator[StoredFile]:
    session, config = import_module("boto3").session.Session(), import_module("botocore.config")
    bucket, _, path = url.removeprefix("s3://").partition("/")
    prefix = f"{path.rstrip('/')}/" if path else ""
    own = endpoint or any(os.environ.get(name) for name in ENDPOINT_VARIABLES)
    limits = {"connect_timeout": CONNECT_SECONDS, "read_timeout": READ_SECONDS, "retries": {"total_max_attempts": 2}}
    # A server of one's own has no host name for each bucket.
    settings = config.Config(**limits, s3={"addressing_style": "path"} if own else {})
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or "us-east-1"
    client = session.client("s3", endpoint_url=endpoint or None, region_name=region, config=settings)
    for page in client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix):
        for found in page.get("Contents", ()):
            yield StoredFile(found["Key"].removeprefix(prefix), found["Size"], found["LastModified"])


def _fsspec_files(url: str) -> Iterator[StoredFile]:
    store, root = import_module("fsspec").url_to_fs(url)
    found: dict[str, Any] = store.find(root, detail=True)
    complete = {name.removesuffix(COMPLETE) for name in found if name.endswith(f"/{COMPLETE}")}
    for name, info in found.items():
        # A store may be asked once for each of these: of a complete checkpoint one, which is the newest, is enough.
        is_asked = name.endswith(f"/{COMPLETE}") or not any(name.startswith(place) for place in complete)
        saved = store.modified(name) if is_asked else datetime.fromtimestamp(0, UTC)
        yield StoredFile(name.removeprefix(root).lstrip("/"), info.get("size") or 0, saved)
