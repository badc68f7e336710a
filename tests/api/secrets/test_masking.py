"""Credentials in logs and command lines are hidden, however they are written; what is none stays."""

from __future__ import annotations

import time

import pytest

from shunter.api.secrets.masking import HIDDEN, masked_log

SECRET = "s3cr3t/value-of+42"
KEY = "-----BEGIN RSA PRIVATE KEY-----\n{0}\n{0}\n-----END RSA PRIVATE KEY-----"
SHOWN = {
    "an assignment": f"HF_TOKEN={SECRET}",
    "an assignment with blanks": f"password = {SECRET}",
    "a label": f"api_key: {SECRET}",
    "JSON": f'{{"access_token": "{SECRET}", "step": 3}}',
    "a Python dictionary": f"{{'secret': '{SECRET}'}}",
    "an option": f"train.py --api-key {SECRET} --lr 1",
    "an option within a command": f"bash -c 'train.py --api-key {SECRET}' x",
    "an assignment in an option": f"--env=HF_TOKEN={SECRET}",
    "JSON in a text": f'"{{\\"access_token\\": \\"{SECRET}\\"}}"',
    "a presigned address": "https://b.s3.amazonaws.com/k?X-Amz-Date=1&X-Amz-Signature=s3cr3tvalue-of&x=1",
    "a password with a dollar": f"password=$6$s3cr3t${SECRET}",
    "an address with a password": f"mlflow at https://me:{SECRET.replace('/', '')}@mlflow.example.org",
    "a bearer": f"Authorization: Bearer {SECRET}",
    "basic": f"authorization: basic {SECRET}",
}


@pytest.mark.parametrize("text", SHOWN.values(), ids=list(SHOWN))
def test_a_secret_that_is_named_is_hidden(text: str) -> None:
    found = masked_log(f"2026-11-25T20:00:00Z {text}\nstep 3", ())
    assert "s3cr3t" not in found
    assert "value-of" not in found
    assert HIDDEN in found
    assert found.endswith("\nstep 3")


@pytest.mark.parametrize(
    "token",
    [
        "hf_AbCdEfGhIjKlMnOpQrStUv",
        "AKIAIOSFODNN7EXAMPLE",
        "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.c2lnbmF0dXJl",
    ],
)
def test_a_token_is_known_by_its_shape(token: str) -> None:
    assert token not in masked_log(f"using {token}, as given", ())
    assert token not in masked_log(f"https://{token}@example.org/x", ())


@pytest.mark.parametrize(
    "text", [KEY, KEY.partition("-----END")[0], KEY.partition("\n")[2]], ids=["whole", "cut at the end", "cut at the beginning"]
)
def test_a_private_key_is_hidden_even_in_part(text: str) -> None:
    line = "MIIEpAIBAAKCAQEAu1SU1LfVLPHCozMxH2Mo4lgOEePzNm0tRgeLezV6ffAt0gun"
    assert line not in masked_log(f"loading\n{text.format(line)}\n", ())


@pytest.mark.parametrize(
    "text",
    [
        "tokens/s: 5012",
        "tokenizer: bert-base",
        "{'loss': 0.5, 'mean_token_accuracy': 0.85, 'use_auth_token': True}",
        "jwt.InvalidTokenError: not enough segments",
        "token=$1 --pad-token [PAD] --max-tokens 4096",
        "KeyError: 'DATASET'",
        "export HF_TOKEN=$TOKEN",
        "token: ${HF_TOKEN}",
        "step 7 loss 0.5",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert masked_log(text, ()) == text


@pytest.mark.parametrize(
    "text",
    [
        "token" * 20000,
        "-" * 100000,
        "a=" * 50000,
        "password " * 20000,
        "x" * 10 + ":" * 100000,
        "token='" * 20000,
        'token="' * 20001,
        "token: " * 30000,
        "a-token" * 20000 + "=",
    ],
)
def test_a_long_line_takes_no_long_time(text: str) -> None:
    begun = time.process_time()
    masked_log(text, ())
    assert time.process_time() - begun < 2
