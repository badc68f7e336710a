"""Who may do what. Every component of the embedded cluster is a member of `system:masters` and may do everything; anyone who is
known may discover the API and ask about themselves."""

from shunter.cluster.apiserver.requests import Call, Target, User
from shunter.cluster.apiserver.status import StatusError

_OPEN_RESOURCES = {
    ("authorization.k8s.io", "selfsubjectaccessreviews"),
    ("authorization.k8s.io", "selfsubjectrulesreviews"),
    ("authentication.k8s.io", "selfsubjectreviews"),
}


def may(user: User, target: Target) -> bool:
    """Whether the user may do anything at all with the target."""
    return user.is_admin or (target.group, target.plural) in _OPEN_RESOURCES


def refusal(call: Call) -> StatusError | None:
    """403 in the original's words, or None."""
    if not call.target.plural or may(call.user, call.target):
        return None
    target = call.target
    resource = f"{target.plural}/{target.subresource}" if target.subresource else target.plural
    where = f'in the namespace "{target.namespace}"' if target.namespace else "at the cluster scope"
    qualified = f"{target.plural}.{target.group}" if target.group else target.plural
    what = f'{qualified} "{target.name}"' if target.name else qualified
    message = (
        f'{what} is forbidden: User "{call.user.name}" cannot {call.verb} resource "{resource}" '
        f'in API group "{target.group}" {where}'
    )
    details = {"kind": target.plural}
    if target.group:
        details["group"] = target.group
    if target.name:
        details["name"] = target.name
    return StatusError(403, "Forbidden", message, details)
