"""Impersonation (`kubectl --as`): Impersonate-User, -Group, -Uid and -Extra-* headers.

Source: k8s.io/apiserver `endpoints/filters/impersonation`, its legacy mode. Several groups come in one header, separated by
commas.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import unquote

from shunter.api.formats.go_values import go_quoted
from shunter.cluster.apiserver.auth.authz import Authorizer, forbidden
from shunter.cluster.apiserver.auth.rbac import Action
from shunter.cluster.apiserver.requests import User
from shunter.cluster.apiserver.status import StatusError, bad_request
from shunter.kube.tls.certificate_user import AUTHENTICATED

_ACCOUNT = "system:serviceaccount:"
_PREFIX = "impersonate-"
_EXTRA = "impersonate-extra-"
_UNAUTHENTICATED, _ANONYMOUS = "system:unauthenticated", "system:anonymous"


def is_requested(headers: Mapping[str, str]) -> bool:
    """Whether any of the headers asks for impersonation."""
    return any(name.startswith(_PREFIX) for name in headers)


def impersonated(user: User, headers: Mapping[str, str], authorizer: Authorizer) -> User:
    """The impersonated user; `user` without such headers. Raises 400 when they name no user, 403 when `user` may not do this."""
    name = headers.get("impersonate-user", "")
    groups = _values(headers.get("impersonate-group", ""))
    uid = headers.get("impersonate-uid", "")
    extra = {
        unquote(header.removeprefix(_EXTRA)): _values(value) for header, value in headers.items() if header.startswith(_EXTRA)
    }
    if not name:
        if groups or uid or extra:
            raise bad_request(f"requested {_shown(uid, groups, extra)} without impersonating a user name")
        return user
    _check(user, _about_user(name), authorizer)
    if uid:
        _check(user, Action("impersonate", "authentication.k8s.io", plural="uids", name=uid), authorizer)
    for group in groups:
        _check(user, Action("impersonate", plural="groups", name=group), authorizer)
    for key, values in extra.items():
        for value in values:
            _check(user, Action("impersonate", "authentication.k8s.io", "userextras", key, name=value), authorizer)
    if name.startswith(_ACCOUNT) and not groups:
        namespace = name.removeprefix(_ACCOUNT).partition(":")[0]
        groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")
    return User(name, _completed(name, groups), uid, extra)


def _values(header: str) -> tuple[str, ...]:
    return tuple(value.strip() for value in header.split(",") if value.strip())


def _completed(name: str, groups: tuple[str, ...]) -> tuple[str, ...]:
    """The groups with `system:authenticated`, or with `system:unauthenticated` for the anonymous user."""
    if name == _ANONYMOUS:
        wanted = _UNAUTHENTICATED
    elif _UNAUTHENTICATED in groups:
        return groups
    else:
        wanted = AUTHENTICATED
    return groups if wanted in groups else (*groups, wanted)


def _about_user(name: str) -> Action:
    if not name.startswith(_ACCOUNT):
        return Action("impersonate", plural="users", name=name)
    namespace, _, account = name.removeprefix(_ACCOUNT).partition(":")
    return Action("impersonate", plural="serviceaccounts", namespace=namespace, name=account)


def _check(user: User, action: Action, authorizer: Authorizer) -> None:
    if not authorizer.decision(user, action).allowed:
        refusal: StatusError = forbidden(user, action)
        raise refusal


def _shown(uid: str, groups: tuple[str, ...], extra: Mapping[str, tuple[str, ...]]) -> str:
    """As Go prints a user without a name."""
    pairs = (f"{go_quoted(key)}:{_go_strings(values)}" for key, values in sorted(extra.items()))
    shown = f"map[string][]string{{{', '.join(pairs)}}}" if extra else "map[string][]string(nil)"
    return f'&user.DefaultInfo{{Name:"", UID:{go_quoted(uid)}, Groups:{_go_strings(groups)}, Extra:{shown}}}'


def _go_strings(texts: tuple[str, ...]) -> str:
    return f"[]string{{{', '.join(map(go_quoted, texts))}}}" if texts else "[]string(nil)"
