"""Questions about users: who am I, may I, may they, whose token is this. Nothing here is stored."""

from __future__ import annotations

from collections.abc import Callable

from shunter.api.field_errors import invalid as invalid_field
from shunter.api.meta import Json
from shunter.cluster.apiserver.authn import Authenticator
from shunter.cluster.apiserver.authz import may
from shunter.cluster.apiserver.discovery import VIRTUAL
from shunter.cluster.apiserver.negotiation import read
from shunter.cluster.apiserver.requests import Call, Target, User
from shunter.cluster.apiserver.status import invalid, method_not_allowed

_KINDS = {(virtual.group, virtual.version, virtual.plural): virtual.kind for virtual in VIRTUAL}


def serves(target: Target) -> bool:
    """Whether the target is one of these questions."""
    return (target.group, target.version, target.plural) in _KINDS


class Reviews:
    """Answers reviews with what authentication and authorization would do."""

    def __init__(self, authenticator: Authenticator) -> None:
        self._authenticator = authenticator
        self._answers: dict[str, Callable[[Call, Json], Json]] = {
            "SelfSubjectReview": self._self_subject,
            "TokenReview": self._token,
            "SelfSubjectAccessReview": self._self_access,
            "SelfSubjectRulesReview": self._self_rules,
            "SubjectAccessReview": self._access,
            "LocalSubjectAccessReview": self._access,
        }

    def answer(self, call: Call) -> Json:
        """The review with its status filled in. Raises 405 for anything but a create."""
        if call.method != "POST":
            raise method_not_allowed()
        target = call.target
        kind = _KINDS[target.group, target.version, target.plural]
        review = read(call.body, call.content_type, kind).document
        status = self._answers[kind](call, review.get("spec") or {})
        return {
            "kind": kind,
            "apiVersion": f"{target.group}/{target.version}",
            "metadata": {},
            **({"spec": review["spec"]} if "spec" in review else {}),
            "status": status,
        }

    def _self_subject(self, call: Call, spec: Json) -> Json:
        return {"userInfo": _user_info(call.user)}

    def _token(self, call: Call, spec: Json) -> Json:
        user = self._authenticator.user_of_token(spec.get("token", ""))
        if user is None:
            return {"user": {}, "error": "invalid bearer token"}
        return {"authenticated": True, "user": _user_info(user), "audiences": spec.get("audiences") or []}

    def _self_access(self, call: Call, spec: Json) -> Json:
        return _decision(call.user, _asked(spec))

    def _access(self, call: Call, spec: Json) -> Json:
        if not spec.get("user") and not spec.get("groups"):
            fault = invalid_field("spec.user", "", "at least one of user or group must be specified")
            raise invalid("authorization.k8s.io", "", "", [fault])
        return _decision(User(spec.get("user", ""), tuple(spec.get("groups") or ())), _asked(spec))

    def _self_rules(self, call: Call, spec: Json) -> Json:
        everything = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
        anywhere = {"verbs": ["*"], "nonResourceURLs": ["*"]}
        allowed = call.user.is_admin
        return {
            "resourceRules": [everything] if allowed else [],
            "nonResourceRules": [anywhere] if allowed else [],
            "incomplete": False,
        }


def _asked(spec: Json) -> Target:
    resource = spec.get("resourceAttributes") or {}
    return Target(
        resource.get("group", ""),
        resource.get("version", ""),
        resource.get("resource", ""),
        resource.get("namespace", ""),
        resource.get("name", ""),
    )


def _decision(user: User, target: Target) -> Json:
    if may(user, target):
        return {"allowed": True, "reason": "member of system:masters" if user.is_admin else "open to every user"}
    return {"allowed": False, "reason": "only members of system:masters may do this in an embedded cluster"}


def _user_info(user: User) -> Json:
    info: Json = {"username": user.name, "groups": list(user.groups)}
    if user.uid:
        info["uid"] = user.uid
    return info
