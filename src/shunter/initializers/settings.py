"""What the environment asks for. Credentials are read here, and kept out of everything that is shown or printed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import urlsplit

from shunter.errors import InputError

Role = Literal["dataset", "model"]
SCHEMES = ("hf", "s3", "file", "http", "https")
HIDDEN = "***"

_SECRETS = ("ACCESS_TOKEN", "ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "SESSION_TOKEN")
_ADDRESS = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*://)(?:[^\s/@]+@)?(?P<place>[^\s?\"'<>]*)(?:\?[^\s\"'<>]*)?")


@dataclass(frozen=True, slots=True)
class Settings:
    """One fetch."""

    role: Role
    uri: str
    """With neither user nor password: those are credentials."""
    ignore_patterns: tuple[str, ...] | None = None
    """None if it is not set."""
    endpoint: str = ""
    region: str = ""
    """The region of an S3 store; empty if not set."""
    role_arn: str = ""
    access_token: str = field(default="", repr=False)
    access_key_id: str = field(default="", repr=False)
    secret_access_key: str = field(default="", repr=False)
    session_token: str = field(default="", repr=False)

    @property
    def scheme(self) -> str:
        """`hf`, `s3`, `file`, `http` or `https`."""
        return urlsplit(self.uri).scheme

    def without_secrets(self, text: str) -> str:
        """The text with no credential in it: neither ours, nor what an address carries in its user or its parameters."""
        secrets = (self.access_token, self.access_key_id, self.secret_access_key, self.session_token)
        for secret in filter(None, secrets):
            text = text.replace(secret, HIDDEN)
        return _ADDRESS.sub(r"\g<scheme>\g<place>", text)


def settings(role: Role, environment: Mapping[str, str]) -> Settings:
    """Raises InputError naming the variable that is wrong."""
    uri = environment.get("STORAGE_URI", "")
    if not uri:
        raise InputError(
            "STORAGE_URI environment variable must be set", f"Set storageUri in spec.initializer.{role} of the TrainJob."
        )
    try:
        parts = urlsplit(uri)
        where = parts.hostname or parts.path
    except ValueError as error:
        raise InputError(f"STORAGE_URI is {uri!r}: {error}.", "Write it like hf://ORGANIZATION/NAME.") from error
    if parts.username or parts.password:
        raise InputError(
            f"STORAGE_URI carries a user or password for {parts.hostname}.",
            "Put credentials into a Secret, named by secretRef of the TrainJob's initializer.",
        )
    if parts.scheme not in SCHEMES:
        raise InputError(
            f"Unsupported {role} storage URI scheme {parts.scheme!r}: expected one of {', '.join(SCHEMES)}",
            _advice(parts.scheme),
        )
    if not where:
        raise InputError(f"STORAGE_URI is {uri!r}: it names nothing.", f"Write {parts.scheme}:// and what to fetch.")
    values = {name.lower(): environment.get(name, "") for name in (*_SECRETS, "ENDPOINT", "ROLE_ARN")}
    patterns = environment.get("IGNORE_PATTERNS")
    ignored = None if patterns is None else tuple(part.strip() for part in patterns.split(",") if part.strip())
    values["region"] = _region(environment)
    return Settings(role=role, uri=uri, ignore_patterns=ignored, **values)


def _region(environment: Mapping[str, str]) -> str:
    """REGION, else what all of AWS's SDKs but boto3 call it. `auto`, upstream's default, is the region of stores that have none;
    AWS has no such region."""
    region = environment.get("REGION", "")
    if region == "auto" and not environment.get("ENDPOINT"):
        region = ""
    return region or environment.get("AWS_REGION", "")


def _advice(scheme: str) -> str:
    if scheme == "cache":
        return "The data cache is a separate service of Kubeflow Trainer; use the address of the data source instead."
    return "Other stores can be read through s3:// with ENDPOINT, through https://, or from a mounted volume by file://."
