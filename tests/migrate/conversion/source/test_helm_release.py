"""Releases of Helm, as their Secrets hold them."""

from __future__ import annotations

import base64
import gzip
import json

import pytest

from shunter.api.meta import Json
from shunter.errors import InputError
from shunter.migrate.conversion.source.helm_release import release_of


def secret(content: bytes) -> Json:
    return {"metadata": {"name": "sh.helm.release.v1.train.v3"}, "data": {"release": base64.b64encode(content).decode()}}


def test_a_release_is_unpacked() -> None:
    packed = gzip.compress(json.dumps({"name": "train", "manifest": "---\nkind: A\n", "chart": {}}).encode())
    release = release_of(secret(base64.b64encode(packed)))
    assert (release.name, release.manifest) == ("train", "---\nkind: A\n")


@pytest.mark.parametrize("content", [b"", b"no base64!", base64.b64encode(b"\x1f\x8bbroken"), base64.b64encode(b"{")])
def test_a_secret_that_helm_did_not_write_is_refused_by_name(content: bytes) -> None:
    with pytest.raises(InputError, match=r"sh\.helm\.release\.v1\.train\.v3"):
        release_of(secret(content))
