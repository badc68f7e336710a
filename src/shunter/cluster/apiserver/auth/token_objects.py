"""Whether a service account token is still valid: its account, and the pod, Secret or Node that it is bound to, must exist with
the same uid.

Source: k8s.io/kubernetes 1.36 `serviceaccount/claims.go`; the messages are the same.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from shunter.api.formats.times import moment
from shunter.api.meta import Json
from shunter.api.resources import NODES, PODS, SECRETS, SERVICE_ACCOUNTS, Resource
from shunter.cluster.apiserver.storage.store import Entry, Store

_LEEWAY = timedelta(seconds=60)
"""How long after its deletionTimestamp an object that still exists keeps its tokens valid."""
_INVALIDATED = "service account token has been invalidated"
_BOUND = {"secret": SECRETS, "pod": PODS, "node": NODES}


def fault(claims: Json, store: Store, now: datetime) -> str:
    """Why a token with these claims (`kubernetes.io`) is no longer valid; empty when it is valid."""
    namespace, account = claims["namespace"], claims["serviceaccount"]
    entry = _find(store, SERVICE_ACCOUNTS, namespace, account["name"])
    if entry is None:
        return f'{SERVICE_ACCOUNTS.full_name} "{account["name"]}" not found'
    if entry.uid != account["uid"]:
        return f"service account UID ({entry.uid}) does not match claim ({account['uid']})"
    if _is_deleted(entry, now):
        return f"service account {namespace}/{account['name']} has been deleted"
    return next((why for name, resource in _BOUND.items() if (why := _bound_fault(claims, name, resource, store, now))), "")


def _bound_fault(claims: Json, name: str, resource: Resource, store: Store, now: datetime) -> str:
    bound = claims.get(name)
    if bound is None or (name == "node" and "pod" in claims):
        return ""  # A pod's token names the pod's node, and is not bound to it.
    entry = _find(store, resource, claims["namespace"], bound["name"])
    if entry is None or (entry.uid == bound["uid"] and _is_deleted(entry, now)):
        return _INVALIDATED
    if entry.uid != bound["uid"]:
        return f"{name} UID ({entry.uid}) does not match service account {name} ref claim ({bound['uid']})"
    return ""


def _find(store: Store, resource: Resource, namespace: str, name: str) -> Entry | None:
    return store.collection(resource.group, resource.plural).get(namespace if resource.namespaced else "", name)


def _is_deleted(entry: Entry, now: datetime) -> bool:
    since = entry.field("metadata.deletionTimestamp")
    return bool(since) and moment(since) < now - _LEEWAY
