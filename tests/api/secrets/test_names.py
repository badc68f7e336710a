"""One table of names says what holds a secret: `run --env` refuses the same that pages and recordings hide."""

from __future__ import annotations

import pytest

from shunter.api.secrets.masking import HIDDEN, credentials, masked, masked_log
from shunter.api.secrets.names import holds_secret, names_secret
from shunter.page.object_text import object_text

SECRET = [
    "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HUGGINGFACE_TOKEN", "WANDB_API_KEY",
    "COMET_API_KEY", "OPENAI_API_KEY", "NEPTUNE_API_TOKEN", "CLEARML_API_SECRET_KEY", "MLFLOW_TRACKING_TOKEN",
    "MLFLOW_TRACKING_PASSWORD", "DATABRICKS_TOKEN", "GITHUB_TOKEN", "GH_TOKEN", "AZURE_STORAGE_KEY",
    "AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_SAS_TOKEN", "AZURE_STORAGE_CONNECTION_STRING", "AZURE_CLIENT_SECRET",
    "KAGGLE_KEY", "PGPASSWORD", "MYSQL_PWD", "REDIS_PASSWORD", "DB_PASSWD", "SSH_PRIVATE_KEY", "TOKEN", "PASSWORD", "SECRET",
    "API_KEY", "hf_token", "my_secret_key", "DB_CONNECTION_STRING", "ENCRYPTION_KEY", "GIT_CREDENTIALS", "SSH_PRIVATE_KEY_B64",
    "clientSecret", "apiKey", "AccountKey", "--hf-token", "db.passwd", "VAULT_SECRET_ID", "AUTH_TOKENS", "TOKEN_2",
    "DB_PASS", "MYSQL_PASS", "SMTP_PASS", "userPass",
]  # fmt: skip
OPEN = [
    "AWS_ACCESS_KEY_ID", "AWS_REGION", "AWS_PROFILE", "GOOGLE_APPLICATION_CREDENTIALS", "TOKENIZERS_PARALLELISM", "PAD_TOKEN",
    "EOS_TOKEN", "MAX_TOKENS", "NUM_TOKENS", "TOKENS", "HF_HOME", "WANDB_PROJECT", "MLFLOW_TRACKING_USERNAME", "MONKEY",
    "KEY", "SORT_KEY", "PASSWORD_FILE", "SECRET_NAME", "CACHE_KEY", "HF_TOKEN_PATH",
    "secretName", "serviceAccountTokenExpirationSeconds", "PAD_TOKEN_ID", "token_type_ids", "PWD", "OLDPWD", "InvalidTokenError",
    "FORWARD_PASS", "NUM_PASSES", "DB_PASSES", "--tokenizer", "MAX_NEW_TOKENS", "num_tokens_per_sec",
]  # fmt: skip


VALUE = "s3cr3t-value"


@pytest.mark.parametrize("name", SECRET)
def test_a_secret_is_hidden_wherever_its_name_stands(name: str) -> None:
    assert holds_secret(name)
    assert names_secret(name)
    variable = {"env": [{"name": name, "value": VALUE}]}
    assert credentials(variable) == credentials({name: VALUE}) == credentials([f"{name}={VALUE}"]) == {VALUE}
    assert VALUE not in object_text({"kind": "Pod", "spec": variable, "metadata": {"annotations": {name: VALUE}}})
    assert masked(f"{name}={VALUE} step", ()) == f"{name}={HIDDEN} step"
    assert masked_log(f"{name}: {VALUE} step", ()) == f"{name}: {HIDDEN} step"


@pytest.mark.parametrize("name", OPEN)
def test_a_name_that_only_looks_like_a_secret_hides_nothing(name: str) -> None:
    assert not holds_secret(name)
    assert credentials({"env": [{"name": name, "value": VALUE}], name: VALUE}) == set()
    for text in (f"{name}={VALUE}", f"{name}: {VALUE}", f"--{name} {VALUE}"):
        assert masked_log(text, ()) == text
