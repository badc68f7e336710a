"""Who is asking: bearer tokens of STATE/tokens.json, client certificates of the cluster's CA, and service account tokens.

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
from shunter.kube.tls.certificate_user import user_and_groups, with_authenticated

log = logging.getLogger(__name__)


class _KnownUser(msgspec.Struct, gc=False):
    user: str
    groups: tuple[str, ...] = ()


class Identity(NamedTuple):
    """Whom a token stands for, and whom it is meant for."""

    user: User
    audiences: frozenset[str]


class Authenticator:
    """Reads tokens.json again whenever it changes. What tokens of service accounts are bound to is looked up in the store, each
    time: a token that died is refused from then on."""

    def __init__(self, tokens_file: Path, issuer: TokenIssuer, store: Store) -> None:
        self._file = tokens_file
        self._issuer = issuer
        self._store = store
        self._seen = 0
        self._users: dict[str, User] = {}

    def user(self, authorization: str, certificate: Mapping[str, Any] | None) -> User | None:
        """The user of a request, or None when it must be refused, from its Authorization header and verified certificate."""
        if authorization:
            scheme, _, token = authorization.partition(" ")
            return self._user_of_token(token.strip()) if scheme.lower() == "bearer" else None
        name, groups = user_and_groups(certificate or {})
        return User(name, groups) if name else None

    def _user_of_token(self, token: str) -> User | None:
        try:
            return self.identity(token).user
        except TokenError:
            return None

    def identity(self, token: str, audiences: Collection[str] = API_AUDIENCES) -> Identity:
        """Whose a token is that is meant for one of these audiences; those of tokens.json are for the API server. Raises
        TokenError."""
        known = self._known(token) if not API_AUDIENCES.isdisjoint(audiences) else None
        if known:
            return Identity(known, API_AUDIENCES)
        claims = self._issuer.claims(token)
        meant_for = frozenset(claims["aud"])
        if meant_for.isdisjoint(audiences):
            shown, wanted = (quoted(some) for some in (claims["aud"], audiences))
            raise TokenError(f"token audiences {shown} is invalid for the target audiences {wanted}")
        why = token_objects.fault(claims["kubernetes.io"], self._store, utc_now())
        if why:
            raise TokenError(why)
        return Identity(user_of(claims), meant_for)

    def _known(self, token: str) -> User | None:
        self._read_if_changed()
        return self._users.get(token)

    def _read_if_changed(self) -> None:
        try:
            changed = self._file.stat().st_mtime_ns
            if changed == self._seen:
                return
            known = msgspec.json.decode(self._file.read_bytes(), type=dict[str, _KnownUser])
        except (OSError, msgspec.DecodeError) as error:
            log.error("%s: %s", self._file, error)
            return
        self._seen = changed
        self._users = {token: User(entry.user, with_authenticated(entry.groups)) for token, entry in known.items()}
