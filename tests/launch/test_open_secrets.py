"""Secrets do not stand in jobs."""

from __future__ import annotations

import pytest

from api.secrets.test_names import SECRET
from shunter.errors import InputError
from shunter.launch.options import LaunchOptions, Program


@pytest.mark.parametrize("name", SECRET)
def test_a_secret_is_refused_by_the_name_of_its_variable(name: str) -> None:
    with pytest.raises(InputError, match=f"--env {name}: everyone who may read the job could read it") as refusal:
        LaunchOptions(program=Program(path="train.py"), environment=({"name": name, "value": "s3cr3t"},))
    assert refusal.value.remedy == f"Put it under the key {name} into a Secret, and add --env-from secret/SECRET:{name}."
    kept = {"name": name, "valueFrom": {"secretKeyRef": {"name": "mine", "key": name}}}
    for variable in (kept, {"name": name, "value": ""}, {"name": name, "value": "$(MINE)"}):
        assert LaunchOptions(program=Program(path="train.py"), environment=(variable,)).environment == (variable,)


@pytest.mark.parametrize(
    "value", ["http://me:s3cr3t@proxy:3128", "postgresql://u:s3cr3t@db/runs", "redis://:s3cr3t@cache:6379", "x=http://a:s3cr3t@c"]
)
def test_a_password_in_an_address_is_refused(value: str) -> None:
    with pytest.raises(InputError, match="the address contains a password") as refusal:
        LaunchOptions(program=Program(path="train.py"), environment=({"name": "PLACE", "value": value},))
    assert "s3cr3t" not in str(refusal.value)


@pytest.mark.parametrize(
    "value", ["http://proxy:3128", "s3://a@b/c", "redis://:$(PASSWORD)@cache", "10:30@12", "abfs://runs@account/p"]
)
def test_other_values_are_taken(value: str) -> None:
    assert LaunchOptions(program=Program(path="train.py"), environment=({"name": "PLACE", "value": value},))
