"""Secrets that would stand in a job: who may read a job may read its variables. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from shunter.api.meta import Json
from shunter.api.secrets.masking import has_password
from shunter.api.secrets.names import is_credential
from shunter.errors import InputError


def require_no_secrets(variables: Iterable[Json]) -> None:
    """InputError for a secret that would stand in the job for everybody to read: by the variable's name, or as the password of an
    address. One that is taken from a Secret has no value here."""
    for variable in variables:
        name, value = str(variable["name"]), str(variable.get("value", ""))
        remedy = f"Put it under the key {name} into a Secret, and add --env-from secret/SECRET:{name}."
        if is_credential(name, value):
            raise InputError(f"--env {name}: everyone who may read the job could read it.", remedy)
        if has_password(value):
            raise InputError(
                f"--env {name}: the address contains a password, which everyone who may read the job could read.", remedy
            )
