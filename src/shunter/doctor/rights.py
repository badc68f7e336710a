"""The user's permissions in a namespace, by one SelfSubjectRulesReview, so that the report can name missing ones."""

from __future__ import annotations

from shunter.api.meta import Json, Struct
from shunter.api.resources import Resource
from shunter.kube.client import Client
from shunter.kube.errors import ApiError

REVIEWS = Resource("authorization.k8s.io", "v1", "SelfSubjectRulesReview", "selfsubjectrulesreviews", namespaced=False)


class Rights(Struct, frozen=True):
    """The rules of a review; `is_known` is False if the review failed or is incomplete."""

    namespace: str
    rules: tuple[Json, ...] = ()
    is_known: bool = False

    def allows(self, verb: str, resource: str) -> bool:
        """Whether the rules allow this on a resource of the core group; True if they are not known."""
        if not self.is_known:
            return True
        return any(
            _has(rule.get("verbs"), verb) and _has(rule.get("apiGroups"), "") and _has(rule.get("resources"), resource)
            for rule in self.rules
            if not rule.get("resourceNames")
        )

    def refusal(self, verb: str, resource: str) -> str:
        """Why something is missing, as `you may not list events in team-a`."""
        doing = {"pods/exec": "exec", "pods/log": "read logs"}.get(resource, f"{verb} {resource}")
        return f"you may not {doing} in {self.namespace}"


def _has(values: list[str] | None, name: str) -> bool:
    return any(
        value in ("*", name) or (value.startswith("*/") and value[1:] == f"/{name.partition('/')[2]}") for value in values or ()
    )


async def rights_in(client: Client, namespace: str) -> Rights:
    """The user's permissions there; not known if the server does not answer."""
    body = REVIEWS.typed({"spec": {"namespace": namespace}})
    try:
        status = (await client.create(REVIEWS, body)).get("status") or {}
    except ApiError:
        return Rights(namespace=namespace)
    # An authorizer that cannot list its rules, such as a webhook, makes the review incomplete: then requests are just tried.
    return Rights(namespace=namespace, rules=tuple(status.get("resourceRules") or ()), is_known=not status.get("incomplete"))
