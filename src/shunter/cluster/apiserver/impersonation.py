"""Acting as somebody else (`kubectl --as`): Impersonate-User, -Group, -Uid and -Extra-* headers.

Source: k8s.io/apiserver `endpoints/filters/impersonation.go`. Several groups come in one header, separated by commas.
"""

from __future__ import annotations

from collections.abc import Mapping

from shunter.cluster.apiserver.authz import Authorizer, forbidden
from shunter.cluster.apiserver.rbac import Action
from shunter.cluster.apiserver.requests import User
from shunter.cluster.apiserver.status import StatusError, internal

_ACCOUNT = "system:serviceaccount:"


def impersonated(user: User, headers: Mapping[str, str], authorizer: Authorizer) -> User:
    """The user that a request is to be judged as. Raises 403 when this user may not speak for that one."""
    name = headers.get("impersonate-user", "")
    groups = tuple(group.strip() for group in headers.get("impersonate-group", "").split(",") if group.strip())
    uid = headers.get("impersonate-uid", "")
    if not name:
        if groups or uid:
            raise internal("requested groups, uid or extra without impersonating a user")
        return user
    _check(user, _about_user(name), authorizer)
    for group in groups:
        _check(user, Action("impersonate", plural="groups", name=group), authorizer)
    if uid:
        _check(user, Action("impersonate", "authentication.k8s.io", plural="uids", name=uid), authorizer)
    if name.startswith(_ACCOUNT) and not groups:
        namespace = name.removeprefix(_ACCOUNT).partition(":")[0]
        groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")
    return User(name, (*groups, "system:authenticated"), uid)


def _about_user(name: str) -> Action:
    if not name.startswith(_ACCOUNT):
        return Action("impersonate", plural="users", name=name)
    namespace, _, account = name.removeprefix(_ACCOUNT).partition(":")
    return Action("impersonate", plural="serviceaccounts", namespace=namespace, name=account)


def _check(user: User, action: Action, authorizer: Authorizer) -> None:
    if not authorizer.decision(user, action).allowed:
        refusal: StatusError = forbidden(user, action)
        raise refusal
