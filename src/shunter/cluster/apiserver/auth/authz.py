"""Authorization. The components of an embedded cluster are members of `system:masters` and may do everything; other users may do
what roles allow (`rbac`), and every authenticated user may discover the API and review their own access."""

from __future__ import annotations

from dataclasses import dataclass

from shunter.api.meta import Json
from shunter.api.resources import NAMESPACES
from shunter.cluster.apiserver.auth.rbac import Action, Rbac, allows
from shunter.cluster.apiserver.requests import Call, User
from shunter.cluster.apiserver.selectors import exact_name
from shunter.cluster.apiserver.status import StatusError
from shunter.kube.tls.certificate_user import AUTHENTICATED

_OPEN_RULES: tuple[Json, ...] = (
    {"verbs": ["create"], "apiGroups": ["authentication.k8s.io"], "resources": ["selfsubjectreviews"]},
    {
        "verbs": ["create"],
        "apiGroups": ["authorization.k8s.io"],
        "resources": ["selfsubjectaccessreviews", "selfsubjectrulesreviews"],
    },
    {
        "verbs": ["get"],
        "nonResourceURLs": [
            *("/api", "/api/*", "/apis", "/apis/*", "/openapi", "/openapi/*"),
            *("/healthz", "/livez", "/readyz", "/version", "/version/"),
        ],
    },
    {"verbs": ["get"], "nonResourceURLs": ["/healthz", "/livez", "/readyz", "/version", "/version/"]},
)
"""What every authenticated user may do. Source: the cluster roles `system:basic-user`, `system:discovery` and
`system:public-info-viewer`, k8s.io/kubernetes 1.36 `plugin/pkg/auth/authorizer/rbac/bootstrappolicy`."""


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether an action is allowed, and by which binding."""

    allowed: bool
    reason: str = ""


_NO = Decision(False)
_YES = Decision(True)


class Authorizer:
    """Decides by group membership and by the stored roles."""

    def __init__(self, rbac: Rbac) -> None:
        self.rbac = rbac

    def decision(self, user: User, action: Action) -> Decision:
        """Allowed, with the binding as the reason, where a role allows it; allowed without a reason for `system:masters` and
        by `_OPEN_RULES`; else denied."""
        if user.is_admin or _is_open(user, action):
            return _YES
        reason = self.rbac.reason(user, action)
        return Decision(True, reason) if reason else _NO

    def answer(self, asked: Json) -> tuple[bool, str]:
        """The decision about an action in an expression (`cel_authorizer.Decide`)."""
        user = User(asked["user"], tuple(asked["groups"]))
        if "path" in asked:
            action = Action(asked["verb"].lower(), path=asked["path"])
        else:
            names = ("group", "resource", "subresource", "namespace", "name")
            action = Action(asked["verb"], *(asked.get(name, "") for name in names))
        decision = self.decision(user, action)
        return decision.allowed, decision.reason

    def rules(self, user: User, namespace: str) -> list[Json]:
        """Every rule that applies to the user in a namespace."""
        open_rules = _OPEN_RULES if AUTHENTICATED in user.groups else ()
        return [*open_rules, *self.rbac.rules(user, namespace)]

    def refusal(self, call: Call) -> StatusError | None:
        """403 with kube-apiserver's message; None when the request is allowed."""
        if call.user.is_admin:
            return None
        action = _action(call)
        return None if self.decision(call.user, action).allowed else forbidden(call.user, action)

    def refusal_of_path(self, user: User, path: str, method: str) -> StatusError | None:
        """The error if the user may not access a path that is not a resource; None if allowed."""
        action = Action(method.lower(), path=path)
        return None if self.decision(user, action).allowed else forbidden(user, action)


def _action(call: Call) -> Action:
    """The action of a request: a namespace belongs to itself, and a list or watch of one name is an action on that name. Source:
    k8s.io/apiserver `endpoints/request/requestinfo.go`."""
    target = call.target
    namespace, name = target.namespace, target.name
    if (target.group, target.plural) == ("", NAMESPACES.plural):
        namespace = name
    if call.verb in ("list", "watch") and not target.is_watch:
        name = exact_name(call.query.get("fieldSelector", ""))
    return Action(call.verb, target.group, target.plural, target.subresource, namespace, name)


def _is_open(user: User, action: Action) -> bool:
    return AUTHENTICATED in user.groups and any(allows(rule, action) for rule in _OPEN_RULES)


def forbidden(user: User, action: Action) -> StatusError:
    """The error for a denied action."""
    if action.path:
        return StatusError(403, "Forbidden", f'forbidden: User "{user.name}" cannot {action.verb} path "{action.path}"', {})
    resource = f"{action.plural}/{action.subresource}" if action.subresource else action.plural
    where = f'in the namespace "{action.namespace}"' if action.namespace else "at the cluster scope"
    qualified = f"{action.plural}.{action.group}" if action.group else action.plural
    what = f'{qualified} "{action.name}"' if action.name else qualified
    wish = f'cannot {action.verb} resource "{resource}" in API group "{action.group}" {where}'
    message = f'{what} is forbidden: User "{user.name}" {wish}'
    details = {"kind": action.plural}
    if action.group:
        details["group"] = action.group
    if action.name:
        details["name"] = action.name
    return StatusError(403, "Forbidden", message, details)
