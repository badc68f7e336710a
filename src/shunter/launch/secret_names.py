"""Variables whose values are secrets, by their names: who may read a job may read its variables. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

from shunter.api.meta import Json
from shunter.errors import InputError

_ENDINGS = (
    "TOKEN",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "SECRET",
    "SECRET_KEY",
    "API_KEY",
    "APIKEY",
    "ACCESS_KEY",
    "ACCOUNT_KEY",
    "STORAGE_KEY",
    "PRIVATE_KEY",
    "CONNECTION_STRING",
)
"""Also of names that are longer: HF_TOKEN, AWS_SECRET_ACCESS_KEY, WANDB_API_KEY, PGPASSWORD."""
_NAME = re.compile(rf"(?:.*_)?(?:[A-Z]*PASSWORD|KAGGLE_KEY|MYSQL_PWD|{'|'.join(_ENDINGS)})")
_TEXT_TOKEN = re.compile(r"(?:.*_)?(?:PAD|BOS|EOS|UNK|MASK|SEP|CLS|STOP|MAX|SPECIAL|START|END|IMAGE)_TOKEN")
"""Tokens of a text, as of a tokenizer."""
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^/\s:@]*:[^/\s@]+@")


def holds_secret(name: str) -> bool:
    """Whether a variable of this name holds a password, a token or a key."""
    upper = name.upper()
    return _NAME.fullmatch(upper) is not None and _TEXT_TOKEN.fullmatch(upper) is None


def require_no_secrets(variables: Iterable[Json]) -> None:
    """InputError for a secret that would stand in the job for everybody to read: by the variable's name, or as the password of an
    address. One that is taken from a Secret has no value here."""
    for variable in variables:
        name, value = str(variable["name"]), str(variable.get("value", ""))
        if not value:
            continue
        remedy = f"Put it under the key {name} into a Secret, and add --env-from secret/SECRET:{name}."
        if holds_secret(name):
            raise InputError(f"--env {name}: everyone who may read the job could read it.", remedy)
        if _ADDRESS.match(value):
            raise InputError(
                f"--env {name}: the address contains a password, which everyone who may read the job could read.", remedy
            )
