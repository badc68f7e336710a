"""Secrets do not stand in jobs; what only looks like one does."""

from __future__ import annotations

import pytest

from shunter.errors import InputError
from shunter.launch.options import LaunchOptions, Program
from shunter.launch.secret_names import holds_secret

SECRET = [
    "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HUGGINGFACE_TOKEN", "WANDB_API_KEY",
    "COMET_API_KEY", "OPENAI_API_KEY", "NEPTUNE_API_TOKEN", "CLEARML_API_SECRET_KEY", "MLFLOW_TRACKING_TOKEN",
    "MLFLOW_TRACKING_PASSWORD", "DATABRICKS_TOKEN", "GITHUB_TOKEN", "GH_TOKEN", "AZURE_STORAGE_KEY",
    "AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_SAS_TOKEN", "AZURE_STORAGE_CONNECTION_STRING", "AZURE_CLIENT_SECRET",
    "KAGGLE_KEY", "PGPASSWORD", "MYSQL_PWD", "REDIS_PASSWORD", "DB_PASSWD", "SSH_PRIVATE_KEY", "TOKEN", "PASSWORD", "SECRET",
    "API_KEY", "hf_token", "my_secret_key",
]  # fmt: skip
OPEN = [
    "AWS_ACCESS_KEY_ID", "AWS_REGION", "AWS_PROFILE", "GOOGLE_APPLICATION_CREDENTIALS", "TOKENIZERS_PARALLELISM", "PAD_TOKEN",
    "EOS_TOKEN", "MAX_TOKENS", "NUM_TOKENS", "TOKENS", "HF_HOME", "WANDB_PROJECT", "MLFLOW_TRACKING_USERNAME", "MONKEY",
    "KEY", "SORT_KEY", "PASSWORD_FILE", "SECRET_NAME", "CACHE_KEY", "HF_TOKEN_PATH",
]  # fmt: skip


@pytest.mark.parametrize("name", SECRET)
def test_a_secret_is_refused_by_the_name_of_its_variable(name: str) -> None:
    with pytest.raises(InputError, match=f"--env {name}: everyone who may read the job could read it") as refusal:
        LaunchOptions(program=Program(path="train.py"), environment=({"name": name, "value": "s3cr3t"},))
    assert refusal.value.remedy == f"Put it under the key {name} into a Secret, and add --env-from secret/SECRET:{name}."
    kept = {"name": name, "valueFrom": {"secretKeyRef": {"name": "mine", "key": name}}}
    for variable in (kept, {"name": name, "value": ""}):
        assert LaunchOptions(program=Program(path="train.py"), environment=(variable,)).environment == (variable,)


@pytest.mark.parametrize("name", OPEN)
def test_a_name_that_only_looks_like_a_secret_is_taken(name: str) -> None:
    assert not holds_secret(name)


@pytest.mark.parametrize("value", ["http://me:s3cr3t@proxy:3128", "postgresql://u:s3cr3t@db/runs", "redis://:s3cr3t@cache:6379"])
def test_a_password_in_an_address_is_refused(value: str) -> None:
    with pytest.raises(InputError, match="the address contains a password") as refusal:
        LaunchOptions(program=Program(path="train.py"), environment=({"name": "PLACE", "value": value},))
    assert "s3cr3t" not in str(refusal.value)


@pytest.mark.parametrize("value", ["http://proxy:3128", "s3://a@b/c", "x=http://a:b@c", "10:30@12", "abfs://runs@account/p"])
def test_other_values_are_taken(value: str) -> None:
    assert LaunchOptions(program=Program(path="train.py"), environment=({"name": "PLACE", "value": value},))
