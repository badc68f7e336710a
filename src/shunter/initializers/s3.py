"""s3://BUCKET/PREFIX, by boto3: every object below the prefix, or the one of that name.

Credentials are those of ACCESS_KEY_ID and SECRET_ACCESS_KEY, else what boto3 finds (web identity, instance profile); with
ROLE_ARN that role is taken on. A bucket for everybody needs none. The region is REGION, else the pod's AWS_REGION, else what
boto3 finds (AWS_DEFAULT_REGION, a profile); where there is none, S3 itself says where the bucket is. An object is checked by what
S3 knows of it: its SHA-256, SHA-1 or CRC-32, else the MD5 that the ETag of most objects is; else by its size.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path
from posixpath import basename
from typing import Any
from urllib.parse import unquote, urlsplit

import boto3
from boto3.session import Session
from botocore import UNSIGNED
from botocore.config import Config
from botocore.credentials import AssumeRoleCredentialFetcher, DeferredRefreshableCredentials
from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError

from shunter.errors import EnvironmentProblem, InputError, ShunterError
from shunter.initializers.files import BLOCK, Advance, Checksum, RemoteFile, check, hexadecimal
from shunter.initializers.settings import Settings
from shunter.initializers.streams import OpenedStream, resume

SECONDS = 60.0
UNSAID = "us-east-1"
"""Where boto3 asks S3 when no region is named; for roles it has no such place."""

_MD5 = re.compile(r'"?([0-9a-f]{32})"?')
_CHECKSUMS = {"ChecksumSHA256": "sha256", "ChecksumSHA1": "sha1", "ChecksumCRC32": "crc32"}


class S3:
    """Keys that end in `/`, which stand for folders, are no files."""

    def __init__(self, settings: Settings) -> None:
        parts = urlsplit(settings.uri)
        self._bucket = parts.netloc
        self._prefix = unquote(parts.path).lstrip("/")
        self._ignored = settings.ignore_patterns or ()
        self._settings = settings
        with self._explained():
            self._client = client(settings)

    def files(self) -> list[RemoteFile]:
        """Named by what follows the folder of the prefix, the one object of that name by its last part. Empty where all is
        ignored; InputError where nothing is there."""
        with self._explained():
            pages = self._client.get_paginator("list_objects_v2").paginate(Bucket=self._bucket, Prefix=self._prefix)
            listed = [found for page in pages for found in page.get("Contents", ())]
        wanted = [(found, name) for found in listed if (name := self._name(found["Key"]))]
        if listed and not wanted:
            return []
        if not wanted:
            raise InputError(f"Bucket {self._bucket} holds nothing below {self._prefix!r}.", "Look at the address.")
        return [RemoteFile(name, found["Size"], found.get("ETag", "")) for found, name in wanted]

    def fetch(self, file: RemoteFile, part: Path, advance: Advance) -> None:
        """Held to the checksum that S3 states, if it does: EnvironmentProblem where it differs, and `part` is gone. A changed
        object is refused."""
        key = self._key(file)

        @contextmanager
        def open_at(offset: int) -> Iterator[OpenedStream]:
            ranged = {"Range": f"bytes={offset}-"} if offset else {}
            matching = {"IfMatch": file.version} if file.version else {}
            answer = self._client.get_object(Bucket=self._bucket, Key=key, **ranged, **matching)
            try:
                yield OpenedStream(offset, answer["Body"].iter_chunks(BLOCK))
            finally:
                answer["Body"].close()

        with self._explained():
            head = self._client.head_object(Bucket=self._bucket, Key=key, ChecksumMode="ENABLED")
            resume(part, open_at, advance, size=file.size)
        checksum = stated(head)
        if checksum is not None:
            try:
                check(file._replace(checksum=checksum), part)
            except EnvironmentProblem:
                part.unlink()
                raise

    def _key(self, file: RemoteFile) -> str:
        if self._is_one(file.path):
            return self._prefix
        return f"{self._folder}{file.path}"

    @property
    def _folder(self) -> str:
        return self._prefix if not self._prefix or self._prefix.endswith("/") else f"{self._prefix}/"

    def _is_one(self, name: str) -> bool:
        return bool(self._prefix) and not self._prefix.endswith("/") and name == basename(self._prefix)

    def _name(self, key: str) -> str:
        """The file that an object becomes; none for folders, for neighbours that only begin alike, and for what is ignored."""
        if key.endswith("/") or any(fnmatch(key, pattern) for pattern in self._ignored):
            return ""
        if key == self._prefix:
            return basename(key)
        return key.removeprefix(self._folder) if key.startswith(self._folder) else ""

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turns what boto3 raises into an error with a remedy."""
        try:
            yield
        except NoCredentialsError as error:
            raise InputError("No credentials for S3.", CREDENTIALS) from error
        except ClientError as error:
            raise _refusal(error, self._bucket) from error
        except BotoCoreError as error:
            where = self._settings.endpoint or "S3"
            raise EnvironmentProblem(f"{where}: {error}.", "Look at ENDPOINT, REGION and the pod's network.") from error


CREDENTIALS = "Give ACCESS_KEY_ID and SECRET_ACCESS_KEY in a Secret that secretRef of the TrainJob's initializer names."


def client(settings: Settings) -> Any:
    """A client of the store, as whom the settings say."""
    session = boto3.Session(
        aws_access_key_id=settings.access_key_id or None,
        aws_secret_access_key=settings.secret_access_key or None,
        aws_session_token=settings.session_token or None,
        region_name=settings.region or None,
    )
    options: dict[str, Any] = {"connect_timeout": 10, "read_timeout": SECONDS, "retries": {"mode": "standard", "max_attempts": 4}}
    if settings.endpoint:
        # Stores beside AWS have no names for their buckets.
        options["s3"] = {"addressing_style": "path"}
    if settings.role_arn:
        _take_on(session, settings)
    elif session.get_credentials() is None:
        options["signature_version"] = UNSIGNED
    return session.client("s3", endpoint_url=settings.endpoint or None, config=Config(**options))


def _take_on(session: Session, settings: Settings) -> None:
    """Lets the session act in the role, whose credentials are renewed while it lasts."""
    core = session._session
    credentials = core.get_credentials()
    if credentials is None:
        raise NoCredentialsError

    def create(service: str, **options: Any) -> Any:
        region = session.region_name or UNSAID
        return core.create_client(service, region_name=region, endpoint_url=settings.endpoint or None, **options)

    fetcher = AssumeRoleCredentialFetcher(create, credentials, settings.role_arn)
    core._credentials = DeferredRefreshableCredentials(fetcher.fetch_credentials, "assume-role")


def stated(head: dict[str, Any]) -> Checksum | None:
    """What S3 knows of an object's content as a whole."""
    if head.get("ChecksumType", "FULL_OBJECT") == "FULL_OBJECT":
        for field, algorithm in _CHECKSUMS.items():
            if text := head.get(field):
                return Checksum(algorithm, hexadecimal(text))
    match = _MD5.fullmatch(head.get("ETag", ""))
    is_plain = head.get("ServerSideEncryption", "AES256") == "AES256" and "SSECustomerAlgorithm" not in head
    return Checksum("md5", match[1]) if match and is_plain else None


def _refusal(error: ClientError, bucket: str) -> ShunterError:
    said = error.response.get("Error", {})
    code, status = said.get("Code", ""), error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    text = f"S3 says {code}: {said.get('Message') or 'nothing more'}."
    if code in ("NoSuchBucket", "404", "NoSuchKey"):
        return InputError(text, f"Look at the address: is {bucket} the bucket?")
    if code == "PreconditionFailed":
        return EnvironmentProblem(text, "The object changed while it was fetched: try again.")
    if status >= 500 or status == 429 or code in ("SlowDown", "RequestTimeout"):
        return EnvironmentProblem(text, "Try again later.")
    return InputError(text, CREDENTIALS)
