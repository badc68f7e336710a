"""How long a pod's service account token is good, as far as replacing it goes. Pure but for `stored_tokens`.

Source: kubelet 1.36 `pkg/kubelet/token`: a token is replaced when 80 % of the life that was asked for are over, or a day. The
life that a token says of itself counts only when it is shorter: API servers give well-known tokens a year, to see who reads them
once.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from shunter.api.meta import Json
from shunter.cluster.node.content.references import TokenKey, token_key
from shunter.cluster.node.layout import PodDirectory
from shunter.kube.reviews import unverified_claims

LIFE_USED = 0.8
MAX_AGE_SECONDS = 24 * 3600.0


class _Claims(msgspec.Struct, frozen=True):
    iat: float = 0.0
    exp: float = 0.0


def is_fresh(token: str, key: TokenKey, now: float) -> bool:
    """Whether a token needs no replacement at `now` (seconds since the epoch). What is no token is not fresh."""
    claims = _claims(token)
    life = min(key.expiration_seconds, claims.exp - claims.iat)
    return now < claims.iat + min(life * LIFE_USED, MAX_AGE_SECONDS)


def stored_tokens(spec: Json, directory: PodDirectory) -> dict[TokenKey, str]:
    """The tokens that lie in the pod's volumes."""
    found = {}
    for key, path in _token_files(spec, directory):
        if path.is_file():
            found[key] = path.read_text()
    return found


def _token_files(spec: Json, directory: PodDirectory) -> Iterator[tuple[TokenKey, Path]]:
    for volume in spec.get("volumes") or ():
        for source in (volume.get("projected") or {}).get("sources") or ():
            if "serviceAccountToken" in source:
                projection = source["serviceAccountToken"]
                yield token_key(projection), directory.volume(volume["name"]) / projection["path"]


def _claims(token: str) -> _Claims:
    """What a JSON web token says of its time; its signature is not checked here."""
    try:
        return msgspec.convert(unverified_claims(token), _Claims)
    except msgspec.ValidationError:
        return _Claims()
