"""The subresources that are actions: a pod's binding and eviction, a service account's token, a namespace's finalize, scale.

Source: k8s.io/kubernetes `registry/core/{pod,serviceaccount,namespace}/storage`, k8s.io/apiextensions-apiserver for scale.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

import msgspec

from shunter.api.core import FINISHED_PHASES
from shunter.api.field_errors import FieldError
from shunter.api.field_errors import invalid as invalid_field
from shunter.api.meta import Json, rfc3339
from shunter.api.resources import (
    CERTIFICATE_SIGNING_REQUESTS,
    NAMESPACES,
    NODES,
    POD_DISRUPTION_BUDGETS,
    PODS,
    SECRETS,
    Resource,
)
from shunter.cluster.apiserver import object_meta
from shunter.cluster.apiserver.admission.attributes import Attributes
from shunter.cluster.apiserver.apply import managed
from shunter.cluster.apiserver.auth.service_account_tokens import ISSUER, TokenIssuer
from shunter.cluster.apiserver.backend import Backend
from shunter.cluster.apiserver.builtin.namespaces import finalizer_errors
from shunter.cluster.apiserver.builtin.pod.ephemeral import ephemeral_errors, take_only_them
from shunter.cluster.apiserver.builtin.rules.signing_requests import approval_errors
from shunter.cluster.apiserver.builtin.signing_requests import take_only_approval
from shunter.cluster.apiserver.decoding import read_as
from shunter.cluster.apiserver.deletion import DeleteOptions, check_delete_options, check_preconditions, delete
from shunter.cluster.apiserver.kinds import MalformedError, no_admission, no_warnings
from shunter.cluster.apiserver.negotiation import media_type
from shunter.cluster.apiserver.patch.requests import APPLY, expect_applied, patcher
from shunter.cluster.apiserver.registry import ServedKind
from shunter.cluster.apiserver.requests import Call, Target, unsigned_fault, write_options
from shunter.cluster.apiserver.schema import golang
from shunter.cluster.apiserver.status import bad_request, conflict, created, invalid, method_not_allowed, not_found
from shunter.cluster.apiserver.storage.store import Entry, StaleError
from shunter.cluster.apiserver.subresources import disruption
from shunter.cluster.apiserver.subresources.scale_apply import apply_scale
from shunter.cluster.apiserver.subresources.scales import SCALES, scale_of
from shunter.cluster.apiserver.writes import Outcome, modify

_BINDINGS = Resource("", "v1", "Binding", "bindings")
_EVICTIONS = Resource("policy", "v1", "Eviction", "evictions")
_TOKEN_REQUESTS = Resource("authentication.k8s.io", "v1", "TokenRequest", "tokenrequests")
read_scale = golang.reader("io.k8s.api.autoscaling.v1.Scale")
_DEFAULT_TOKEN_SECONDS = 3600
_MIN_TOKEN_SECONDS = 600
_MAX_TOKEN_SECONDS = 2**32


async def bind(backend: Backend, call: Call, served: ServedKind) -> Outcome:
    """POST pods/NAME/binding: assigns a pod to a node, once. Raises 409 for a pod that has one or is going."""
    binding = read_as(call, _BINDINGS)
    object_meta.in_namespace(binding["metadata"], call.target.namespace)
    if binding["metadata"].get("name") != call.target.name:
        raise bad_request("name in URL does not match name in Binding object")
    if binding["target"].get("kind", "") not in ("", "Node"):
        shown = f'Unsupported value: "{binding["target"]["kind"]}": supported values: "Node", "<empty>"'
        raise invalid("", "Binding", call.target.name, [FieldError("FieldValueNotSupported", "target.kind", shown)])
    node = binding["target"].get("name", "")
    if not node:
        fault = FieldError("FieldValueRequired", "target.name", "Required value")
        raise invalid("", "Binding", call.target.name, [fault])
    now = rfc3339(backend.now())

    def assigned(pod: Json) -> Json:
        if pod["metadata"].get("deletionTimestamp"):
            raise _cannot_bind(served, call, f"pod {call.target.name} is being deleted, cannot be assigned to a host")
        if pod["spec"].get("nodeName"):
            text = f'pod {call.target.name} is already assigned to node "{pod["spec"]["nodeName"]}"'
            raise _cannot_bind(served, call, text)
        pod["spec"]["nodeName"] = node
        for name in ("annotations", "labels"):
            given = (binding.get("metadata") or {}).get(name)
            if given:
                pod["metadata"][name] = {**(pod["metadata"].get(name) or {}), **given}
        status = pod.setdefault("status", {})
        conditions = [c for c in status.get("conditions") or () if c["type"] != "PodScheduled"]
        conditions.append({"type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": now})
        status["conditions"] = conditions
        return pod

    await _ask_webhooks(backend, call, served, _BINDINGS, binding)
    await _write_whole(backend, call, served, assigned)
    return Outcome(201, None, created())


async def _ask_webhooks(backend: Backend, call: Call, served: ServedKind, kind: Resource, document: Json) -> None:
    """Calls validating webhooks for an action on a pod, as the creation of `kind`."""
    metadata = {"namespace": call.target.namespace, **(document.get("metadata") or {})}
    shown = {"kind": kind.kind, "apiVersion": kind.api_version, **document, "metadata": metadata}
    attributes = Attributes(
        operation="CREATE",
        resource=served.resource,
        options={"dryRun": ["All"]} if call.query.get("dryRun") else {},
        subresource=call.target.subresource,
        namespace=call.target.namespace,
        name=call.target.name,
        old=None,
        user=call.user,
        dry_run=bool(call.query.get("dryRun")),
        warn=call.warn,
        kind=kind,
    )
    if backend.webhooks.validates(attributes, shown):
        await backend.webhooks.validate(attributes, shown)


def binding_target(call: Call) -> Target:
    """The pod that a Binding in a POST to `bindings` names."""
    name = read_as(call, _BINDINGS)["metadata"].get("name", "")
    if not name:
        raise bad_request("Name parameter required.")
    return call.target._replace(plural="pods", name=name, subresource="binding")


def _cannot_bind(served: ServedKind, call: Call, why: str) -> Exception:
    return conflict(served.resource._replace(plural="pods/binding"), call.target.name, why)


async def _write_whole(backend: Backend, call: Call, served: ServedKind, change: Callable[[Json], Json]) -> None:
    """Stores a change that the server itself makes, past the rules for clients."""
    collection = backend.collection(served)
    while True:
        entry = collection.head(call.target.namespace, call.target.name)
        if entry is None:
            raise not_found(served.resource, call.target.name)
        document = change(served.document(entry))
        if call.query.get("dryRun"):
            return
        try:
            await backend.write(served, document, entry)
            return
        except StaleError:
            continue


async def evict(backend: Backend, call: Call, served: ServedKind) -> Outcome:
    """POST pods/NAME/eviction: deletes the pod with the options in the Eviction. Raises 429 where a budget does not let it go."""
    eviction = read_as(call, _EVICTIONS, also="policy/v1beta1")
    if (eviction.get("metadata") or {}).get("name", call.target.name) != call.target.name:
        raise bad_request("name in URL does not match name in Eviction object")
    options = eviction.get("deleteOptions") or {}
    check_delete_options(options)
    query = {name: str(value) for name, value in options.items() if name in ("gracePeriodSeconds", "propagationPolicy")}
    if call.query.get("dryRun") or options.get("dryRun"):
        query["dryRun"] = "All"
    preconditions = options.get("preconditions") or {}
    meant = DeleteOptions(uid=preconditions.get("uid"), resource_version=preconditions.get("resourceVersion"))

    def disrupted(pod: Json) -> Json:
        check_preconditions(served, pod, meant)
        return _with_disruption(pod, rfc3339(backend.now()))

    await _ask_webhooks(backend, call, served, _EVICTIONS, eviction)
    call = replace(
        call, body=json.dumps({"preconditions": {"uid": meant.uid}}).encode(), content_type="application/json", query=query
    )
    await _take_disruption(backend, call)
    await _write_whole(backend, call, served, disrupted)
    await delete(backend, call, served, asks_webhooks=False)
    return Outcome(201, None, created())


async def _take_disruption(backend: Backend, call: Call) -> None:
    """Takes one of the disruptions that the pod's budget allows. Raises 403, 429 and 500."""
    pod = backend.objects.get(PODS, call.target.namespace, call.target.name)
    budget = disruption.budget_of(pod, backend.objects) if pod is not None else None
    if budget is None:
        return
    collection = backend.store.collection(POD_DISRUPTION_BUDGETS.group, POD_DISRUPTION_BUDGETS.plural)
    while (entry := collection.head(call.target.namespace, budget["metadata"]["name"])) is not None:
        changed = disruption.with_disruption(entry.document(), call.target.name, rfc3339(backend.now()))
        if call.query.get("dryRun"):
            return
        try:
            await backend.store.write(collection, changed, previous=entry, durable=True)
        except StaleError:
            continue
        return


def _with_disruption(pod: Json, now: str) -> Json:
    """The pod with the condition DisruptionTarget, unless it has ended."""
    status = pod["status"]
    if status.get("phase") not in FINISHED_PHASES:
        condition = {
            "type": "DisruptionTarget",
            "status": "True",
            "lastProbeTime": None,
            "lastTransitionTime": now,
            "reason": "EvictionByEvictionAPI",
            "message": "Eviction API: evicting",
        }
        others = [one for one in status.get("conditions") or () if one["type"] != "DisruptionTarget"]
        status["conditions"] = [*others, condition]
    return pod


def token(backend: Backend, call: Call, served: ServedKind, issuer: TokenIssuer) -> Outcome:
    """POST serviceaccounts/NAME/token: a signed token for the account. Raises 400, 404, 409 and 422."""
    request = read_as(call, _TOKEN_REQUESTS)
    account = backend.entry(served, call.target.namespace, call.target.name)
    _check_names(request["metadata"], account)
    spec = request["spec"]
    seconds = _DEFAULT_TOKEN_SECONDS if spec["expirationSeconds"] is None else spec["expirationSeconds"]
    _check_seconds(seconds)
    audiences = spec["audiences"] or [ISSUER]
    text, expires = issuer.issue(
        namespace=account.namespace,
        account=account.name,
        uid=account.uid,
        audiences=audiences,
        seconds=seconds,
        objects=_bound_objects(backend, account, spec["boundObjectRef"]),
    )
    now = backend.now()
    document: Json = {
        "kind": "TokenRequest",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": {
            "name": account.name,
            "namespace": account.namespace,
            "uid": account.uid,
            "creationTimestamp": rfc3339(now),
        },
        "spec": {"audiences": audiences, "expirationSeconds": seconds, "boundObjectRef": spec["boundObjectRef"]},
        "status": {"token": text, "expirationTimestamp": rfc3339(now.fromtimestamp(expires, now.tzinfo))},
    }
    return Outcome(201, None, document)


def _check_names(metadata: Json, account: Entry) -> None:
    """A TokenRequest may name its account, but no other. Raises 400, 409 and 422."""
    name, uid = metadata.get("name") or account.name, metadata.get("uid") or account.uid
    object_meta.in_namespace(metadata, account.namespace)
    if name != account.name:
        fault = invalid_field("metadata.name", name, "must match the service account name if specified")
        raise invalid(_TOKEN_REQUESTS.group, _TOKEN_REQUESTS.kind, account.name, [fault])
    if uid != account.uid:
        why = f"the UID in the token request ({uid}) does not match the UID of the service account ({account.uid})"
        raise conflict(_TOKEN_REQUESTS._replace(plural=_TOKEN_REQUESTS.kind), account.name, why)


def _check_seconds(seconds: int) -> None:
    """How long a token may live. Raises 422."""
    why = "may not specify a duration less than 10 minutes" if seconds < _MIN_TOKEN_SECONDS else ""
    if seconds > _MAX_TOKEN_SECONDS:
        why = "may not specify a duration larger than 2^32 seconds"
    if why:
        fault = invalid_field("spec.expirationSeconds", seconds, why)
        raise invalid(_TOKEN_REQUESTS.group, _TOKEN_REQUESTS.kind, "", [fault])


def _bound_objects(backend: Backend, account: Entry, reference: Json | None) -> Json:
    """Name and uid of what a token is bound to, by kind: something that is there, a pod only of the same account. Raises 400, 404
    and 409."""
    if reference is None:
        return {}
    kind, api_version = reference.get("kind", ""), reference.get("apiVersion", "")
    group, _, version = api_version.rpartition("/")
    resource = {PODS.kind: PODS, SECRETS.kind: SECRETS, NODES.kind: NODES}.get(kind) if not group else None
    if resource is None:
        raise bad_request(f"cannot bind token to object of type {group}/{version}, Kind={kind}")
    name = reference.get("name", "")
    entry = backend.store.collection(resource.group, resource.plural).get(account.namespace if resource.namespaced else "", name)
    if entry is None:
        raise not_found(resource, name)
    objects: Json = {kind.lower(): {"name": entry.name, "uid": entry.uid}}
    if resource is PODS:
        # The account of a pod that names none; a real cluster's admission writes it into the pod.
        if (entry.field("spec.serviceAccountName") or "default") != account.name:
            why = f'cannot bind token for serviceaccount "{account.name}" to pod running with different serviceaccount name.'
            raise bad_request(why)
        objects |= _node_of(backend, entry.field("spec.nodeName"))
    if reference.get("uid") and reference["uid"] != entry.uid:
        raise conflict(
            resource._replace(plural=kind),
            name,
            f"the UID in the bound object reference ({reference['uid']}) does not match the UID in record. "
            "The object might have been deleted and then recreated",
        )
    return objects


def _node_of(backend: Backend, name: str) -> Json:
    """The claims about the pod's node in a pod's token."""
    if not name:
        return {}
    entry = backend.store.collection("", NODES.plural).get("", name)
    return {"node": {"name": name, **({"uid": entry.uid} if entry else {})}}


async def finalize(backend: Backend, call: Call, served: ServedKind) -> Outcome:
    """PUT namespaces/NAME/finalize: takes over spec.finalizers, past the strategy that keeps them, and lets a terminating
    namespace go when none is left."""
    sent = read_as(call, NAMESPACES)
    refusal = object_meta.name_on_url(sent["metadata"], call.target.name) if sent["metadata"].get("name") else None
    if refusal:
        raise refusal
    finalizers = sent["spec"].get("finalizers") or []
    if faults := finalizer_errors(finalizers):
        raise invalid("", NAMESPACES.kind, call.target.name, faults)
    wanted = sent["metadata"].get("resourceVersion", "")
    if wanted and (fault := unsigned_fault(wanted)):
        raise bad_request(fault)
    replaces = int(wanted or 0)
    collection = backend.collection(served)
    while True:
        entry = collection.head(call.target.namespace, call.target.name)
        if entry is None:
            raise not_found(served.resource, call.target.name)
        document = served.document(entry)
        if replaces and replaces != entry.revision:
            raise conflict(served.resource, call.target.name)
        document["spec"] = {**(document.get("spec") or {}), "finalizers": finalizers}
        if not finalizers:
            del document["spec"]["finalizers"]
        metadata = document["metadata"]
        if call.query.get("dryRun"):
            return Outcome(200, None, document)
        is_over = "deletionTimestamp" in metadata and not finalizers and not metadata.get("finalizers")
        if not is_over and document == served.document(entry):
            return Outcome(200, entry)
        write = backend.store.remove if is_over else backend.store.write
        try:
            stored = await write(collection, served.stored(document), previous=entry, durable=served.kind.durable)
        except StaleError:
            continue
        return Outcome(200, stored)


async def scale(backend: Backend, call: Call, served: ServedKind) -> Outcome:
    """GET, PUT and PATCH of a scale subresource."""
    paths = served.kind.scale
    assert paths is not None, "only kinds with a scale subresource are routed here"
    if call.method == "GET":
        entry = backend.entry(served, call.target.namespace, call.target.name)
        return Outcome(200, None, scale_of(served.document(entry), paths))
    applies = call.method == "PATCH" and media_type(call.content_type) == APPLY
    kind = "PatchOptions" if call.method == "PATCH" else "UpdateOptions"
    options = write_options(call.query, call.user_agent, kind, applies=applies)

    def scaled(old: Json) -> Json:
        if applies:
            applied = expect_applied(call, SCALES, options)
            wanted = apply_scale(served, paths, old, applied, options, backend.now())
            old = managed.with_managed_fields(old, wanted["metadata"].get("managedFields", []))
        elif call.method == "PATCH":
            wanted = patcher(call, served, media_type(call.content_type))(scale_of(old, paths))
        elif call.method == "PUT":
            wanted = read_as(call, SCALES)
        else:
            raise method_not_allowed()
        if call.method == "PATCH":
            wanted = _patched_scale(wanted)
        object_meta.check_identity(wanted["metadata"], call.target.name, call.target.namespace)
        replicas = wanted["spec"].get("replicas") or 0
        if replicas < 0 and not served.custom:
            fault = invalid_field("spec.replicas", replicas, "must be greater than or equal to 0")
            raise invalid("autoscaling", "Scale", call.target.name, [fault])
        if (uid := wanted["metadata"].get("uid")) and uid != old["metadata"]["uid"]:
            why = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {old['metadata']['uid']}"
            raise conflict(served.resource, call.target.name, why)
        _set(old, paths.spec_replicas, replicas)
        if version := wanted["metadata"].get("resourceVersion", ""):
            old["metadata"]["resourceVersion"] = version
        return old

    outcome = await modify(backend, call, served, options, scaled, owns_fields=not applies)
    document = served.document(outcome.entry) if outcome.entry else outcome.document
    assert document is not None, "an outcome has either an entry or a document"
    return Outcome(outcome.code, None, scale_of(document, paths))


def _patched_scale(patched: Json) -> Json:
    """A Scale that a patch made, in Go's form. Raises 422."""
    try:
        read_scale(patched)
    except MalformedError as error:
        raise invalid("", "", "", [invalid_field("patch", json.dumps(patched), str(error))]) from None
    return patched


@lru_cache(maxsize=4)
def part(served: ServedKind, subresource: str) -> ServedKind | None:
    """A kind as the subresource that writes only a part of its objects takes it; None for other subresources."""
    match served.key, subresource:
        case ("", "pods"), "ephemeralcontainers":
            kind = msgspec.structs.replace(served.kind, prepare=take_only_them, validate=ephemeral_errors)
        case (CERTIFICATE_SIGNING_REQUESTS.group, CERTIFICATE_SIGNING_REQUESTS.plural), "approval":
            kind = msgspec.structs.replace(served.kind, prepare=take_only_approval, validate=approval_errors, has_status=False)
        case _:
            return None
    return ServedKind(msgspec.structs.replace(kind, admit=no_admission, review=no_admission, warnings=no_warnings))


def _set(document: Json, path: str, value: Any) -> None:
    *parents, last = path.split(".")
    for part in parents:
        document = document.setdefault(part, {})
    document[last] = value
