"""The short hash that names a template's ReplicaSet or revision.

Kubernetes hashes Go's own dump of the template, which differs between its versions as well; here it is the template's JSON.
"""

from __future__ import annotations

import json

from shunter.api.meta import Json
from shunter.api.names import RANDOM_LETTERS

_OFFSET, _PRIME = 0x811C9DC5, 0x01000193


def template_hash(template: Json, collisions: int | None) -> str:
    """The hash of a template; another one for each number of collisions met so far."""
    return encoded(fnv_1(canonical(template) + (b"" if collisions is None else collisions.to_bytes(8, "little"))))


def encoded(number: int) -> str:
    """`5cdf` for 1789: each digit becomes a letter or another digit, so that no word comes out (apimachinery
    `rand.SafeEncodeString`)."""
    return "".join(RANDOM_LETTERS[ord(digit) % len(RANDOM_LETTERS)] for digit in str(number))


def fnv_1(content: bytes) -> int:
    """FNV-1 with 32 bits."""
    value = _OFFSET
    for byte in content:
        value = (value * _PRIME & 0xFFFFFFFF) ^ byte
    return value


def canonical(value: Json) -> bytes:
    """JSON as Go writes maps: sorted, without blanks, `<`, `>` and `&` escaped."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    for letter in "<>&\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text.encode()
