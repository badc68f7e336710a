"""Authentication: bearer tokens of STATE/tokens.json, client certificates of the cluster's CA, and service account tokens.

Anonymous requests are refused, except for health and version.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from shunter.cluster.apiserver.auth import token_objects
from shunter.cluster.apiserver.auth.service_account_tokens import API_AUDIENCES, TokenError, TokenIssuer, user_of
from shunter.cluster.apiserver.backend import utc_now
from shunter.cluster.apiserver.requests import User
from shunter.cluster.apiserver.status import quoted
from shunter.cluster.apiserver.storage.store import Store
from shunter.kube.http.request import bearer_token
from shunter.kube.tls.certificate_user import user_and_groups, with_authenticated

log = logging.getLogger(__name__)


class _StaticUser(msgspec.Struct, gc=False):
    user: str
    groups: tuple[str, ...] = ()


class Identity(NamedTuple):
    """The user that a token authenticates, and its audiences."""

    user: User
    audiences: frozenset[str]


class Authenticator:
    """Reads tokens.json again when it changes. The objects that a service account token is bound to are looked up on each
    request, so a token is refused once they are deleted."""

    def __init__(self, tokens_file: Path, issuer: TokenIssuer, store: Store) -> None:
        self._file = tokens_file
        self._issuer = issuer
        self._store = store
        self._seen = 0
        self._users: dict[str, User] = {}

    def user(self, authorization: str, certificate: Mapping[str, Any] | None) -> User | None:
        """The user of a request, or None when it must be refused, from its Authorization header and verified certificate."""
        if authorization:
            return self._user_of_token(token) if (token := bearer_token(authorization)) else None
        name, groups = user_and_groups(certificate or {})
        return User(name, groups) if name else None

    def _user_of_token(self, token: str) -> User | None:
        try:
            return self.identity(token).user
        except TokenError:
            return None

    def identity(self, token: str, audiences: Collection[str] = API_AUDIENCES) -> Identity:
        """The identity of a token issued for one of these audiences; tokens of tokens.json are for the API server. Raises
        TokenError."""
        static = self._static_user(token) if not API_AUDIENCES.isdisjoint(audiences) else None
        if static:
            return Identity(static, API_AUDIENCES)
        claims = self._issuer.claims(token)
        meant_for = frozenset(claims["aud"])
        if meant_for.isdisjoint(audiences):
            shown, wanted = (quoted(some) for some in (claims["aud"], audiences))
            raise TokenError(f"token audiences {shown} is invalid for the target audiences {wanted}")
        why = token_objects.fault(claims["kubernetes.io"], self._store, utc_now())
        if why:
            raise TokenError(why)
        return Identity(user_of(claims), meant_for)

    def _static_user(self, token: str) -> User | None:
        self._read_if_changed()
        return self._users.get(token)

    def _read_if_changed(self) -> None:
        try:
            changed = self._file.stat().st_mtime_ns
            if changed == self._seen:
                return
            known = msgspec.json.decode(self._file.read_bytes(), type=dict[str, _StaticUser])
        except (OSError, msgspec.DecodeError) as error:
            log.error("%s: %s", self._file, error)
            return
        self._seen = changed
        self._users = {token: User(entry.user, with_authenticated(entry.groups)) for token, entry in known.items()}
