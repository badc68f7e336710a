"""The configurations of admission webhooks.

Source: k8s.io/kubernetes 1.36 `apis/admissionregistration/v1` defaults and validation.
"""

from __future__ import annotations

from collections.abc import Callable

from shunter.api.field_errors import FieldError, duplicate, invalid, required
from shunter.api.meta import Json
from shunter.api.names import subdomain_faults
from shunter.api.resources import MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS, Resource
from shunter.cluster.apiserver.admission import match_conditions
from shunter.cluster.apiserver.builtin.typed import typed
from shunter.cluster.apiserver.field_rules import faults, selector_errors, unsupported
from shunter.cluster.apiserver.kinds import Kind

_OPERATIONS = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"]
_SCOPES = ["*", "Cluster", "Namespaced"]
_REVIEW_VERSIONS = ("v1", "v1beta1")


def kinds() -> list[Kind]:
    """MutatingWebhookConfiguration and ValidatingWebhookConfiguration. A PUT has to name a resourceVersion."""
    return [
        _kind(MUTATING_WEBHOOKS, _default_mutating),
        _kind(VALIDATING_WEBHOOKS, _default_validating),
    ]


def _kind(resource: Resource, default: Callable[[Json], None]) -> Kind:
    return typed(resource, categories=("api-extensions",), default=default, validate=_validate, updates_need_revision=True)


def _default_mutating(configuration: Json) -> None:
    _default_validating(configuration)
    for webhook in configuration.get("webhooks", ()):
        webhook.setdefault("reinvocationPolicy", "Never")


def _default_validating(configuration: Json) -> None:
    for webhook in configuration.get("webhooks", ()):
        webhook.setdefault("failurePolicy", "Fail")
        webhook.setdefault("matchPolicy", "Equivalent")
        webhook.setdefault("namespaceSelector", {})
        webhook.setdefault("objectSelector", {})
        webhook.setdefault("timeoutSeconds", 10)
        for rule in webhook.get("rules", ()):
            rule.setdefault("scope", "*")
        if service := webhook["clientConfig"].get("service"):
            service.setdefault("port", 443)


def _validate(configuration: Json, old: Json | None) -> list[FieldError]:
    errors: list[FieldError] = []
    names: set[str] = set()
    for index, webhook in enumerate(configuration.get("webhooks", ())):
        here = f"webhooks[{index}]"
        name = webhook.get("name", "")
        if name in names:
            errors.append(duplicate(f"{here}.name", name))
        names.add(name)
        errors += _webhook_errors(webhook, here)
    return errors


def _webhook_errors(webhook: Json, field: str) -> list[FieldError]:
    name = webhook.get("name", "")
    errors: list[FieldError] = []
    if not name:
        errors.append(required(f"{field}.name"))
    elif found := subdomain_faults(name):
        errors += faults(f"{field}.name", name, [",".join(found)])
    elif name.count(".") < 2:
        detail = "should be a domain with at least three segments separated by dots"
        errors.append(invalid(f"{field}.name", name, detail))
    for index, rule in enumerate(webhook.get("rules", ())):
        errors += rule_errors(rule, f"{field}.rules[{index}]")
    for key, supported in (("failurePolicy", ["Fail", "Ignore"]), ("matchPolicy", ["Equivalent", "Exact"])):
        if webhook[key] not in supported:
            errors.append(unsupported(f"{field}.{key}", webhook[key], supported))
    if (again := webhook.get("reinvocationPolicy")) not in (None, "IfNeeded", "Never"):
        errors.append(unsupported(f"{field}.reinvocationPolicy", again, ["IfNeeded", "Never"]))
    effects = webhook.get("sideEffects")
    if effects is None:
        errors.append(required(f"{field}.sideEffects", "must specify one of None, NoneOnDryRun"))
    elif effects not in ("None", "NoneOnDryRun"):
        errors.append(unsupported(f"{field}.sideEffects", effects, ["None", "NoneOnDryRun"]))
    if not 1 <= webhook["timeoutSeconds"] <= 30:
        detail = "the timeout value must be between 1 and 30 seconds"
        errors.append(invalid(f"{field}.timeoutSeconds", webhook["timeoutSeconds"], detail))
    errors += selector_errors(webhook["namespaceSelector"], f"{field}.namespaceSelector")
    errors += selector_errors(webhook["objectSelector"], f"{field}.objectSelector")
    errors += _client_errors(webhook["clientConfig"], f"{field}.clientConfig")
    errors += match_conditions.errors(webhook.get("matchConditions") or (), f"{field}.matchConditions")
    return errors + _review_version_errors(webhook, f"{field}.admissionReviewVersions")


def rule_errors(rule: Json, field: str) -> list[FieldError]:
    """The errors of a rule whose scope has been defaulted; admission policies have such rules too. In operations, groups and
    versions `*` stands alone."""
    errors: list[FieldError] = []
    operations = rule.get("operations", [])
    if not operations:
        errors.append(required(f"{field}.operations"))
    if len(operations) > 1 and "*" in operations:
        errors.append(invalid(f"{field}.operations", operations, "if '*' is present, must not specify other operations"))
    for index, operation in enumerate(operations):
        if operation not in _OPERATIONS:
            errors.append(unsupported(f"{field}.operations[{index}]", operation, _OPERATIONS))
    errors += [required(f"{field}.{name}") for name in ("apiGroups", "apiVersions", "resources") if not rule.get(name)]
    for name, noun in (("apiGroups", "API groups"), ("apiVersions", "API versions")):
        if "*" in (listed := rule.get(name) or []) and len(listed) > 1:
            errors.append(invalid(f"{field}.{name}", listed, f"if '*' is present, must not specify other {noun}"))
    errors += _resource_list_errors(rule.get("resources") or [], f"{field}.resources")
    if rule["scope"] not in _SCOPES:
        errors.append(unsupported(f"{field}.scope", rule["scope"], _SCOPES))
    return errors


def _resource_list_errors(resources: list[str], field: str) -> list[FieldError]:
    if "*/*" in resources and len(resources) > 1:
        return [invalid(field, resources, "if '*/*' is present, must not specify other resources")]
    if "*" in resources and any("/" not in name for name in resources if name != "*"):
        return [invalid(field, resources, "if '*' is present, must not specify other resources without subresources")]
    return []


def _client_errors(client: Json, field: str) -> list[FieldError]:
    url, service = client.get("url"), client.get("service")
    if (url is None) == (service is None):
        return [required(field, "exactly one of url or service is required")]
    if url is not None and not url.startswith("https://"):
        detail = "'https' is the only allowed URL scheme; desired format: https://host[/path]"
        return [invalid(f"{field}.url", url.partition(":")[0], detail)]
    if service is not None:
        return [required(f"{field}.service.{name}") for name in ("name", "namespace") if not service.get(name)]
    return []


def _review_version_errors(webhook: Json, field: str) -> list[FieldError]:
    versions = webhook.get("admissionReviewVersions") or []
    if not versions:
        return [required(field, "must specify one of v1, v1beta1")]
    if not set(versions) & set(_REVIEW_VERSIONS):
        return [invalid(field, versions, "must include at least one of v1, v1beta1")]
    return []
