"""Admission webhooks: which of them a write concerns, asking them over HTTPS, and what their answers mean.

Configurations are ordinary objects; they are compiled again when their collection changes. Source: k8s.io/apiserver
`admission/plugin/webhook`; texts and codes are its.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from typing import TypeVar

import msgspec

from shunter.api.meta import Json, as_json
from shunter.api.resources import (
    ENDPOINT_SLICES,
    MUTATING_WEBHOOKS,
    NAMESPACES,
    SERVICES,
    VALIDATING_WEBHOOKS,
    Resource,
)
from shunter.api.selectors import selects
from shunter.cluster.apiserver.admission import match_conditions
from shunter.cluster.apiserver.admission.attributes import Attributes, review, rule_of
from shunter.cluster.apiserver.admission.mutating_policies import MutatingPolicies
from shunter.cluster.apiserver.admission.policies import Policies
from shunter.cluster.apiserver.admission.webhook_answers import Answer, answer, refusal
from shunter.cluster.apiserver.admission.webhook_calls import CallError, Destination, WebhookCalls
from shunter.cluster.apiserver.decoding import conversion_fault
from shunter.cluster.apiserver.patch import json_patch
from shunter.cluster.apiserver.patch.errors import PatchError
from shunter.cluster.apiserver.registry import Registry
from shunter.cluster.apiserver.schema.cel_authorizer import Decide, deciding
from shunter.cluster.apiserver.selectors import Labels
from shunter.cluster.apiserver.status import forbidden, internal, plain
from shunter.cluster.apiserver.storage.store import Collection, Store

log = logging.getLogger(__name__)

Document = TypeVar("Document", Json, Json | None)

_DEFAULT_TIMEOUT = 10.0
_WEBHOOK_GROUP = "admissionregistration.k8s.io"


class Webhook:
    """One webhook of a configuration, ready to be asked."""

    def __init__(self, definition: Json) -> None:
        self.name: str = definition["name"]
        self.rules = tuple(rule_of(rule) for rule in definition.get("rules") or ())
        self.client: Json = definition["clientConfig"]
        self.ignores_failure = definition.get("failurePolicy") == "Ignore"
        self.timeout = float(definition.get("timeoutSeconds") or _DEFAULT_TIMEOUT)
        self.may_be_reinvoked = definition.get("reinvocationPolicy") == "IfNeeded"
        self._namespaces = definition.get("namespaceSelector") or {}
        self._objects = definition.get("objectSelector") or {}
        self._conditions: list[Json] = definition.get("matchConditions") or []

    def concerns(self, attributes: Attributes, document: Json | None, namespace_labels: Labels | None) -> bool:
        """Whether it is asked about this write."""
        if not any(rule.matches(attributes) for rule in self.rules):
            return False
        if namespace_labels is not None and not selects(self._namespaces, namespace_labels):
            return False
        return any(selects(self._objects, labels) for labels in attributes.labels(document))

    def wants(self, request: Json, resource: Resource) -> bool:
        """Whether its match conditions let an AdmissionRequest through to it. Raises 403 where they cannot be evaluated."""
        if not self._conditions:
            return True
        try:
            return match_conditions.hold(self._conditions, match_conditions.values_of(request))
        except match_conditions.ConditionError as error:
            if self.ignores_failure:
                log.warning("the match conditions of webhook %s fail open: %s", self.name, error)
                return False
            raise forbidden(resource, request.get("name", ""), str(error)) from None


class Webhooks:
    """All webhooks of the cluster, the policies that change an object before the mutating ones, and those that judge before the
    validating ones."""

    def __init__(self, store: Store, registry: Registry, decide: Decide) -> None:
        """`decide` answers what expressions ask the authorizer."""
        self._store = store
        self._decide = decide
        self._policies = Policies(store, registry, decide)
        self.mutating_policies = MutatingPolicies(store, registry, decide)
        self._mutating = _Compiled(store, MUTATING_WEBHOOKS)
        self._validating = _Compiled(store, VALIDATING_WEBHOOKS)
        self._calls = WebhookCalls()

    async def close(self) -> None:
        """Cuts the connections to all webhooks, also those on which an answer is awaited."""
        self._calls.close()

    def mutating(self, attributes: Attributes, document: Json | None) -> list[Webhook]:
        """The webhooks to call for a write, in order: configurations by name, webhooks as listed there. Match conditions are
        not evaluated yet. About webhook configurations and admission policies none is asked: no webhook can prevent its own
        removal."""
        return self._concerned(self._mutating, attributes, document)

    def validates(self, attributes: Attributes, document: Json | None) -> bool:
        """Whether a policy or a validating webhook is about the write."""
        return bool(self._policies.concern(attributes, document) or self._concerned(self._validating, attributes, document))

    def asks(self, attributes: Attributes, document: Json) -> bool:
        """Whether any webhook is asked about the write, or any policy judges it."""
        mutates = self.mutating_policies.concern(attributes, document) or self.mutating(attributes, document)
        return bool(mutates) or self.validates(attributes, document)

    def _concerned(self, compiled: _Compiled, attributes: Attributes, document: Json | None) -> list[Webhook]:
        webhooks = compiled.webhooks()
        if not webhooks or attributes.resource.group == _WEBHOOK_GROUP:
            return []
        labels = self._namespace_labels(attributes, document)
        return [webhook for webhook in webhooks if webhook.concerns(attributes, document, labels)]

    def _namespace_labels(self, attributes: Attributes, document: Json | None) -> Labels | None:
        """The labels that namespaceSelector looks at; None for cluster-scoped objects, which it lets pass."""
        if attributes.resource.plural == "namespaces" and not attributes.resource.group:
            return ((document or attributes.old or {}).get("metadata") or {}).get("labels") or {}
        if not attributes.resource.namespaced:
            return None
        entry = self._store.collection("", NAMESPACES.plural).head("", attributes.namespace)
        return entry.labels if entry else {}

    async def mutate(self, attributes: Attributes, document: Document) -> Document:
        """The object after all mutating webhooks, one after another; None for a deletion, which has none. Raises StatusError when
        one of them refuses."""
        again: list[Webhook] = []
        for webhook in self.mutating(attributes, document):
            changed = await self._mutate_by(webhook, attributes, document)
            if changed is not document:
                reinvoke, document = list(again), changed
            else:
                reinvoke = []
            if webhook.may_be_reinvoked:
                again.append(webhook)
            for earlier in reinvoke:
                document = await self._mutate_by(earlier, attributes, document)
        return document

    async def _mutate_by(self, webhook: Webhook, attributes: Attributes, document: Document) -> Document:
        answered = await self._ask(webhook, attributes, document, mutating=True)
        if answered is None or not answered.patch:
            return document
        if document is None:
            why = f'admission webhook "{webhook.name}" attempted to modify the object, which is not supported for this operation'
            raise internal(why)
        try:
            operations = msgspec.json.decode(answered.patch)
            changed = json_patch.apply(document, operations)
        except PatchError as error:
            raise internal(error.why) from None
        except (ValueError, RecursionError) as error:
            fault = f"received undecodable patch in webhook response: {error}"
            raise internal(f'failed calling webhook "{webhook.name}": {fault}') from None
        if (changed.get("kind"), changed.get("apiVersion")) != (document.get("kind"), document.get("apiVersion")):
            fault = conversion_fault(attributes.resource, str(changed.get("kind", "")), str(changed.get("apiVersion", "")))
            raise plain(500, fault)
        copy = as_json(changed)
        return document if copy == document else copy

    async def validate(self, attributes: Attributes, document: Json | None) -> None:
        """Applies all policies, then calls all validating webhooks in parallel. Raises the first refusal by name."""
        self._policies.validate(attributes, document)
        concerned = self._concerned(self._validating, attributes, document)
        answers = await asyncio.gather(
            *(self._ask(webhook, attributes, document, mutating=False) for webhook in concerned), return_exceptions=True
        )
        for answered in answers:
            if isinstance(answered, BaseException):
                raise answered

    async def _ask(self, webhook: Webhook, attributes: Attributes, document: Json | None, *, mutating: bool) -> Answer | None:
        """The answer of a webhook that allows the write; None when its matchConditions do not match, or when it failed and its
        failurePolicy is Ignore. Raises StatusError."""
        asked = review(attributes, document)
        with deciding(self._decide):
            is_wanted = webhook.wants(asked["request"], attributes.resource)
        if not is_wanted:
            return None
        try:
            answered = await self._post(webhook, asked, mutating=mutating)
        except CallError as error:
            if webhook.ignores_failure:
                log.warning("failed calling webhook, failing open %s: %s", webhook.name, error)
                return None
            raise internal(f'failed calling webhook "{webhook.name}": {error}') from None
        for warning in answered.warnings:
            attributes.warn(warning)
        if not answered.allowed:
            raise refusal(webhook.name, answered.status)
        return answered

    async def _post(self, webhook: Webhook, asked: Json, *, mutating: bool) -> Answer:
        url, hostname = self._address(webhook, f"timeout={int(webhook.timeout)}s")
        where = Destination(url, hostname, webhook.client.get("caBundle") or "")
        status, _, body = await self._calls.post(where, msgspec.json.encode(asked), seconds=webhook.timeout)
        return answer(status, body, asked["request"]["uid"], mutating=mutating)

    def _address(self, webhook: Webhook, query: str) -> tuple[str, str]:
        """Where to send the review, and the name in the server's certificate when it is not the URL's."""
        url: str | None = webhook.client.get("url")
        if url:
            return f"{url}{'&' if '?' in url else '?'}{query}", ""
        service = webhook.client.get("service") or {}
        namespace, name = service.get("namespace", ""), service.get("name", "")
        hostname = f"{name}.{namespace}.svc"
        number = service.get("port") or 443
        path = f"{(service.get('path') or '').lstrip('/')}?{query}"
        try:
            host, port = self._endpoint(namespace, name, number)
        except CallError as error:
            raise CallError(f'failed to call webhook: Post "https://{hostname}:{number}/{path}": {error}') from None
        return f"https://{host}:{port}/{path}", hostname

    def _endpoint(self, namespace: str, name: str, port: int) -> tuple[str, int]:
        """An address behind a Service, as nothing routes its cluster address on one machine."""
        service = self._store.collection("", SERVICES.plural).get(namespace, name)
        if service is None:
            raise CallError(f'service "{name}" not found')
        ports = (service.document().get("spec") or {}).get("ports") or ()
        wanted = next((p for p in ports if p.get("port") == port), None)
        slices = self._store.collection(ENDPOINT_SLICES.group, ENDPOINT_SLICES.plural).entries(namespace)
        for entry in slices:
            if wanted is None or entry.labels.get("kubernetes.io/service-name") != name:
                continue
            document = entry.document()
            number = next((p["port"] for p in document.get("ports") or () if p.get("name", "") == wanted.get("name", "")), None)
            for endpoint in document.get("endpoints") or ():
                if number and (endpoint.get("conditions") or {}).get("ready", True):
                    return endpoint["addresses"][0], number
        raise CallError(f'no endpoints available for service "{name}"')


class _Compiled:
    """The webhooks of all configurations of one kind, in the order of their names."""

    def __init__(self, store: Store, resource: Resource) -> None:
        self._collection: Collection = store.collection(resource.group, resource.plural)
        self._collection.listeners.add(self._changed)
        self._webhooks: list[Webhook] | None = None

    def _changed(self, events: Iterable[object]) -> None:
        self._webhooks = None

    def webhooks(self) -> list[Webhook]:
        if self._webhooks is None:
            self._webhooks = [
                Webhook(definition)
                for entry in self._collection.entries()
                for definition in entry.document().get("webhooks") or ()
            ]
        return self._webhooks
