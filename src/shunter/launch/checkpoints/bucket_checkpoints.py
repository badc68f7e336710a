"""Checkpoints in buckets, listed with the credentials of the user or of a job: s3:// by boto3, other URLs by fsspec, where those
are installed. Which of them are complete is said by `checkpoints.steps_of`, as for directories.
"""

from __future__ import annotations

import contextlib
import os
import textwrap
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from importlib import import_module
from types import MappingProxyType
from typing import Any, NamedTuple

from shunter.api.meta import Json
from shunter.api.secrets.masking import masked
from shunter.errors import InputError
from shunter.launch.checkpoints.location import ENDPOINT_VARIABLES, endpoint_of
from shunter.launch.checkpoints.saved import MARKS, SavedStep, StoredFile, newest_damage, steps_of

CONNECT_SECONDS, READ_SECONDS = 5, 15
WRONG_ANYWHERE = {
    *("NoSuchBucket", "InvalidBucketName", "AllAccessDisabled"),
    *("InvalidAccessKeyId", "SignatureDoesNotMatch", "InvalidToken", "ExpiredToken", "TokenRefreshRequired"),
}
"""Answers of S3 about a bucket or keys, the same for every client. AccessDenied is none: a policy may let in only the network of
the pods."""
WRONG_REGION = {"AuthorizationHeaderMalformed", "PermanentRedirect", "IllegalLocationConstraintException"}
"""Answers of S3 to a request that was signed for another region than the bucket's. boto3 repeats it for the right one;
s3torchconnector fails."""
KEYS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
PROBE = "shunter-asks-whether-it-may-write"
"""The name of no object, and of no upload."""
NONE: Mapping[str, str] = MappingProxyType({})
LONGEST_REASON = 250
"""Characters: some libraries tell everything that they tried."""


class Bucket(NamedTuple):
    """What there is below a URL: its files, and what reads one of them, by its path."""

    files: Sequence[StoredFile]
    read: Callable[[str], bytes]


def bucket_below(url: str, variables: Mapping[str, str] = NONE) -> Bucket:
    """What there is below a URL. `variables` are a job's: its server for S3, and where they have keys, also its credentials;
    otherwise those of this shell. InputError where it cannot be listed from here, with the reason as its message."""
    try:
        return _s3_bucket(url, variables) if url.startswith("s3://") else _fsspec_bucket(url)
    except ImportError as error:
        raise _package_missing(url, error) from error
    except Exception as error:  # of a library that may be any: no credentials, no right, no bucket, no server
        raise InputError(_sentence(error)) from error


def names_in_bucket(url: str, variables: Mapping[str, str]) -> set[str]:
    """The first parts of the paths below an s3:// URL, which are the names of jobs, by the credentials of a job. InputError as of
    `bucket_below`."""
    try:
        client = _s3_client(variables)
        bucket, prefix = _bucket_and_prefix(url)
        pages = client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix, Delimiter="/")
        return {found["Prefix"].removeprefix(prefix).rstrip("/") for page in pages for found in page.get("CommonPrefixes", ())}
    except ImportError as error:
        raise _package_missing(url, error) from error
    except Exception as error:
        raise InputError(_sentence(error)) from error


def saved_in_bucket(job: Json, url: str) -> tuple[list[SavedStep], str]:
    """The checkpoints below a URL, the newest first, with what is wrong with them, on the server that a job's variables name and
    with the credentials of this shell; and why it cannot be listed from here, empty if it can."""
    try:
        bucket = bucket_below(url, server_variables(job))
    except InputError as error:
        return [], error.message

    def read(path: str) -> bytes:
        with contextlib.suppress(Exception):  # of a library that may be any: they are listed even if they may not be read
            return bucket.read(path)
        return b""

    return steps_of(bucket.files, read), ""


def server_variables(job: Json) -> Mapping[str, str]:
    """The environment variables of a job that name a custom S3 server, unless they are in a Secret."""
    endpoint = endpoint_of(job)
    return {ENDPOINT_VARIABLES[0]: endpoint} if endpoint else NONE


def damage_in_bucket(bucket: Bucket) -> tuple[str, str]:
    """The newest complete checkpoint and what is wrong with it, as `newest_damage` has it. InputError where it cannot be read."""
    try:
        return newest_damage(bucket.files, bucket.read)
    except Exception as error:
        raise InputError(_sentence(error)) from error


def refusal_of_s3(url: str, variables: Mapping[str, str], *, may_write: bool, is_here: bool = False) -> tuple[str, str]:
    """Why a job with these variables cannot use the place of an s3:// URL, wherever it runs, as the server says it: no such
    bucket, or other keys; of one that runs on this machine (`is_here`) also that it may not write. And what it may not do when
    asked from here, that its region is not the bucket's, or why there was no answer. Both empty if all is well, and where boto3
    is not installed. Where `may_write`, a part of an upload that does not exist is sent: one who may write gets that answer,
    anyone else that access is denied, and nothing stays in the bucket, even if this is killed."""
    try:
        client, errors = _s3_client(variables), import_module("botocore.exceptions")
    except ImportError:
        return "", ""
    bucket, prefix = _bucket_and_prefix(url)
    regions: list[str] = []

    def note_region(response: Any, **_: Any) -> None:
        answer = response[1] if response is not None else {}
        if (error := answer.get("Error", {})).get("Code") in WRONG_REGION:
            headers = answer.get("ResponseMetadata", {}).get("HTTPHeaders", {})
            regions.append(error.get("Region") or headers.get("x-amz-bucket-region", ""))

    client.meta.events.register_first("needs-retry.s3", note_region)
    try:
        if may_write:
            with contextlib.suppress(client.exceptions.NoSuchUpload):
                client.upload_part(Bucket=bucket, Key=prefix + PROBE, UploadId=PROBE, PartNumber=1, Body=b"")
        client.list_objects_v2(Bucket=bucket, Prefix=prefix, MaxKeys=1)
    except errors.ClientError as error:
        code, is_write = error.response["Error"]["Code"], error.operation_name == "UploadPart"
        if code in WRONG_ANYWHERE or (is_here and is_write and code == "AccessDenied"):
            return _sentence(error), ""
        return "", _region_sentence(regions, client.meta.region_name) or _sentence(error)
    except Exception as error:  # no server
        return "", _sentence(error)
    return "", _region_sentence(regions, client.meta.region_name)


def _region_sentence(regions: Sequence[str], own: str) -> str:
    """What is wrong with a job's region, by the answers that name the bucket's; empty where there were none."""
    if not (region := next(filter(None, regions), "")):
        return ""
    return (
        f"the bucket is in region {region}, and the job uses {own}, with which s3torchconnector fails; "
        f"set the variable: AWS_REGION={region}"
    )


def has_keys(variables: Mapping[str, str]) -> bool:
    """Whether a job has credentials of its own in these variables."""
    return all(variables.get(name) for name in KEYS[:2])


def _package_missing(url: str, error: ImportError) -> InputError:
    packages = "boto3 is" if url.startswith("s3://") else "fsspec and the package of this store are"
    return InputError(f"{_sentence(error)}; to list it, {packages} required")


def _sentence(error: Exception) -> str:
    """In one line, without a password that an endpoint's address holds."""
    text = masked(str(error), ()) or type(error).__name__
    return textwrap.shorten(text, LONGEST_REASON, placeholder=" ...").rstrip(".")


def _s3_client(variables: Mapping[str, str]) -> Any:
    """With the credentials in `variables`, and then with nothing of this shell, as in the job's pods; without any with those of
    this shell."""
    boto3, config = import_module("boto3"), import_module("botocore.config")
    is_job = has_keys(variables)
    known = variables if is_job else {**os.environ, **variables}
    keys = {name.lower(): value for name in KEYS if (value := variables.get(name))} if is_job else {}
    endpoint = next((value for name in ENDPOINT_VARIABLES if (value := known.get(name))), None)
    region = known.get("AWS_REGION") or known.get("AWS_DEFAULT_REGION") or "us-east-1"
    limits = {"connect_timeout": CONNECT_SECONDS, "read_timeout": READ_SECONDS, "retries": {"total_max_attempts": 2}}
    # A server of one's own has no host name for each bucket.
    addresses = {"s3": {"addressing_style": "path"} if endpoint else {}, "ignore_configured_endpoint_urls": is_job}
    settings = config.Config(**limits, **addresses)
    return boto3.session.Session(**keys).client("s3", endpoint_url=endpoint, region_name=region, config=settings)


def _bucket_and_prefix(url: str) -> tuple[str, str]:
    bucket, _, path = url.removeprefix("s3://").partition("/")
    return bucket, f"{path.rstrip('/')}/" if path else ""


def _s3_bucket(url: str, variables: Mapping[str, str]) -> Bucket:
    client = _s3_client(variables)
    bucket, prefix = _bucket_and_prefix(url)
    pages = client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
    files = [
        StoredFile(found["Key"].removeprefix(prefix), found["Size"], found["LastModified"])
        for page in pages
        for found in page.get("Contents", ())
    ]

    def read(path: str) -> bytes:
        content: bytes = client.get_object(Bucket=bucket, Key=prefix + path)["Body"].read()
        return content

    return Bucket(files, read)


def _fsspec_bucket(url: str) -> Bucket:
    store, root = import_module("fsspec").url_to_fs(url)
    found: dict[str, Any] = store.find(root, detail=True)
    marks = {name for name in found if name.rpartition("/")[2] in MARKS}
    complete = {name.rpartition("/")[0] + "/" for name in marks}
    files = []
    for name, info in found.items():
        # A store may be asked once for each of these: of a complete checkpoint one, which is the newest, is enough.
        is_asked = name in marks or not any(name.startswith(place) for place in complete)
        saved = store.modified(name) if is_asked else datetime.fromtimestamp(0, UTC)
        files.append(StoredFile(name.removeprefix(root).lstrip("/"), info.get("size") or 0, saved))

    def read(path: str) -> bytes:
        content: bytes = store.cat_file(f"{root.rstrip('/')}/{path}")
        return content

    return Bucket(files, read)
