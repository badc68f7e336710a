"""What the environment may ask for, and that no credential is ever shown."""

from __future__ import annotations

import pytest

from shunter.errors import InputError
from shunter.initializers.settings import settings


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({}, "STORAGE_URI environment variable must be set"),
        ({"STORAGE_URI": ""}, "STORAGE_URI environment variable must be set"),
        (
            {"STORAGE_URI": "gs://bucket/a"},
            "Unsupported dataset storage URI scheme 'gs': expected one of hf, s3, file, http, https",
        ),
        ({"STORAGE_URI": "cache://schema/table"}, "The data cache is a separate service of Kubeflow Trainer"),
        ({"STORAGE_URI": "no-uri"}, "Unsupported dataset storage URI scheme ''"),
        ({"STORAGE_URI": "hf://"}, "it names nothing"),
        ({"STORAGE_URI": "http://[bad"}, "Write it like hf://ORGANIZATION/NAME."),
        ({"STORAGE_URI": "https://me:pass@host/a"}, "Put credentials into a Secret"),
    ],
)
def test_what_cannot_be_fetched_is_refused(environment: dict[str, str], message: str) -> None:
    with pytest.raises(InputError) as caught:
        settings("dataset", environment)
    assert message in str(caught.value)
    assert "pass@" not in str(caught.value)


def test_patterns_are_absent_or_a_list() -> None:
    uri = {"STORAGE_URI": "hf://a/b"}
    assert settings("model", uri).ignore_patterns is None
    assert settings("model", {**uri, "IGNORE_PATTERNS": ""}).ignore_patterns == ()
    assert settings("model", {**uri, "IGNORE_PATTERNS": "*.bin, *.pt,"}).ignore_patterns == ("*.bin", "*.pt")


def test_credentials_are_neither_represented_nor_printed() -> None:
    secrets = {"ACCESS_TOKEN": "tok-1", "ACCESS_KEY_ID": "key-2", "SECRET_ACCESS_KEY": "sec-3", "SESSION_TOKEN": "ses-4"}
    found = settings("dataset", {"STORAGE_URI": "s3://bucket", **secrets})
    shown = repr(found) + found.without_secrets("tok-1 key-2 sec-3 ses-4")
    assert not any(secret in shown for secret in secrets.values())


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("see https://me:pw@host/a", "see https://host/a"),
        ("https://host/a?X-Amz-Signature=abc&y=1 failed", "https://host/a failed"),
        ("'https://host/a?token=1'", "'https://host/a'"),
        ("nothing to hide", "nothing to hide"),
    ],
)
def test_addresses_are_printed_without_what_may_be_secret(text: str, shown: str) -> None:
    assert settings("dataset", {"STORAGE_URI": "hf://a/b"}).without_secrets(text) == shown
