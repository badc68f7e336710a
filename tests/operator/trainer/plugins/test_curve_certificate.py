"""The key by which Flux's brokers know each other."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from typing import Any

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from shunter.operator.trainer.plugins.curve_certificate import certificate, z85
from shunter.operator.trainer.render import rendered

Make = Callable[..., Any]


def test_the_certificate_is_a_pair_and_not_made_of_what_others_can_read(make_trainjob: Make, runtime_of: Make) -> None:
    text = base64.b64decode(certificate("j", b"r" * 32)).decode()
    keys = dict(re.findall('(public|secret)-key = "(.{40})"', text))
    pair = X25519PrivateKey.from_private_bytes(unz85(keys["secret"]))
    assert z85(pair.public_key().public_bytes_raw()) == keys["public"]
    (make,) = rendered(make_trainjob(), runtime_of({"flux": {}})).secrets.values()
    assert make(b"a" * 32)["data"] != make(b"b" * 32)["data"]
    assert make(b"a" * 32)["metadata"]["name"] == "mnist-flux-curve"


def unz85(text: str) -> bytes:
    alphabet = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
    groups = (text[start : start + 5] for start in range(0, len(text), 5))
    return b"".join(
        sum(alphabet.index(char) * 85 ** (4 - place) for place, char in enumerate(group)).to_bytes(4, "big") for group in groups
    )


def test_z85_is_that_of_the_rfc() -> None:
    """ZeroMQ RFC 32's own example."""
    assert z85(bytes([0x86, 0x4F, 0xD2, 0x6F, 0xB5, 0x59, 0xF7, 0x5B])) == "HelloWorld"
