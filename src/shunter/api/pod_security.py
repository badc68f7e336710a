"""What a container that we add to a user's pod takes over of the security context of the container beside which it runs."""

from __future__ import annotations

from shunter.api.meta import Json

RESTRICTIONS = ("runAsGroup", "runAsNonRoot", "runAsUser", "seccompProfile")


def restrictions(container: Json) -> Json:
    """`{"securityContext": ...}` with what restricts this container and nothing that gives rights; empty where nothing does.

    A namespace under the Pod Security Standard `restricted` refuses a pod for any one of its containers: not for the one that
    the operator adds, when its user wrote all others as the standard asks. Rights (privileged, added capabilities, root) are not
    passed on.
    """
    context = container.get("securityContext") or {}
    kept = {field: context[field] for field in RESTRICTIONS if context.get(field)}
    if context.get("allowPrivilegeEscalation") is False:
        kept["allowPrivilegeEscalation"] = False
    if dropped := (context.get("capabilities") or {}).get("drop"):
        kept["capabilities"] = {"drop": dropped}
    return {"securityContext": kept} if kept else {}
