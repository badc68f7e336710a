"""SelfSubjectReview, TokenReview, and the reviews of access and rules. None of them is stored."""

from __future__ import annotations

from collections.abc import Callable

from shunter.api.field_errors import FieldError, required
from shunter.api.field_errors import invalid as invalid_field
from shunter.api.meta import Json, rfc3339
from shunter.api.resources import Resource
from shunter.cluster.apiserver import object_meta
from shunter.cluster.apiserver.auth.authn import Authenticator
from shunter.cluster.apiserver.auth.authz import Authorizer
from shunter.cluster.apiserver.auth.rbac import Action
from shunter.cluster.apiserver.auth.service_account_tokens import API_AUDIENCES, TokenError
from shunter.cluster.apiserver.backend import utc_now
from shunter.cluster.apiserver.decoding import read_as
from shunter.cluster.apiserver.discovery import VIRTUAL
from shunter.cluster.apiserver.field_rules import operator_errors, requirement_errors
from shunter.cluster.apiserver.requests import Call, Target, User
from shunter.cluster.apiserver.selectors import label_requirements, parsed_terms
from shunter.cluster.apiserver.status import StatusError, bad_request, invalid, method_not_allowed, no_such_path

_KINDS = {(virtual.group, virtual.version, virtual.plural): virtual.kind for virtual in VIRTUAL if virtual.group}


def serves(target: Target) -> bool:
    """Whether the target is one of these reviews."""
    return (target.group, target.version, target.plural) in _KINDS


class Reviews:
    """Answers reviews by the server's own authentication and authorization."""

    def __init__(self, authenticator: Authenticator, authorizer: Authorizer) -> None:
        self._authenticator = authenticator
        self._authorizer = authorizer
        self._answers: dict[str, Callable[[Call, Json], Json]] = {
            "SelfSubjectReview": self._self_subject,
            "TokenReview": self._token,
            "SelfSubjectAccessReview": self._self_access,
            "SelfSubjectRulesReview": self._self_rules,
            "SubjectAccessReview": self._access,
            "LocalSubjectAccessReview": self._access,
        }

    def answer(self, call: Call) -> Json:
        """The review with its status filled in. Raises 405 for anything but a create, 404 for one by its name."""
        if call.target.name:
            raise no_such_path()
        if call.method != "POST":
            raise method_not_allowed()
        target = call.target
        kind = _KINDS[target.group, target.version, target.plural]
        review = read_as(call, Resource(target.group, target.version, kind, target.plural))
        if target.namespace:
            object_meta.in_namespace(review["metadata"], target.namespace)
        if target.group == "authorization.k8s.io" and (errors := _errors(kind, review, target.namespace)):
            raise invalid(target.group, "", "", errors)
        status = self._answers[kind](call, review.get("spec") or {})
        metadata: Json = review["metadata"]
        if kind == "SelfSubjectReview":
            metadata = {"creationTimestamp": rfc3339(utc_now())}
        if kind == "SelfSubjectRulesReview":
            metadata, review["spec"] = {}, {}
        return {
            "kind": kind,
            "apiVersion": f"{target.group}/{target.version}",
            "metadata": metadata,
            **({"spec": review["spec"]} if "spec" in review else {}),
            "status": status,
        }

    def _self_subject(self, call: Call, spec: Json) -> Json:
        return {"userInfo": _user_info(call.user)}

    def _token(self, call: Call, spec: Json) -> Json:
        if not spec.get("token"):
            raise bad_request("token is required for TokenReview in authentication")
        wanted = spec.get("audiences") or sorted(API_AUDIENCES)
        try:
            user, meant_for = self._authenticator.identity(spec["token"], wanted)
        except TokenError as error:
            return {"user": {}, "error": f"[invalid bearer token, {error}]" if str(error) else "invalid bearer token"}
        audiences = [audience for audience in wanted if audience in meant_for]
        return {"authenticated": True, "user": _user_info(user), "audiences": audiences}

    def _self_access(self, call: Call, spec: Json) -> Json:
        return self._decision(call.user, spec)

    def _access(self, call: Call, spec: Json) -> Json:
        return self._decision(User(spec.get("user", ""), tuple(spec.get("groups") or ())), spec)

    def _decision(self, user: User, spec: Json) -> Json:
        decision = self._authorizer.decision(user, _action(spec))
        status: Json = {"allowed": decision.allowed}
        if decision.reason:
            status["reason"] = decision.reason
        if fault := _evaluation_error(spec.get("resourceAttributes") or {}):
            status["evaluationError"] = fault
        return status

    def _self_rules(self, call: Call, spec: Json) -> Json:
        if not spec.get("namespace"):
            raise bad_request("no namespace on request")
        everything = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
        anywhere = {"verbs": ["*"], "nonResourceURLs": ["*"]}
        if call.user.is_admin:
            return {"resourceRules": [everything], "nonResourceRules": [anywhere], "incomplete": False}
        rules = self._authorizer.rules(call.user, spec.get("namespace", ""))
        return {
            "resourceRules": [rule for rule in rules if not rule.get("nonResourceURLs")],
            "nonResourceRules": [rule for rule in rules if rule.get("nonResourceURLs")],
            "incomplete": False,
        }


def _errors(kind: str, review: Json, namespace: str) -> list[FieldError]:
    """What is wrong with a review of access; source: k8s.io/kubernetes 1.36 `apis/authorization/validation`."""
    if kind == "SelfSubjectRulesReview":
        return []
    spec, metadata = review.get("spec") or {}, {name: value for name, value in review["metadata"].items() if name != "namespace"}
    resource, other = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    is_local = kind == "LocalSubjectAccessReview"
    errors: list[FieldError] = []
    if resource is not None and other is not None:
        detail = "cannot be specified in combination with resourceAttributes"
        errors.append(invalid_field("spec.nonResourceAttributes", other, detail))
    if resource is None and other is None:
        detail = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        errors.append(invalid_field("spec.resourceAttributes", None, detail))
    if kind != "SelfSubjectAccessReview" and not spec.get("user") and not spec.get("groups"):
        errors.append(invalid_field("spec.user", "", "at least one of user or group must be specified"))
    errors += [error for name in ("fieldSelector", "labelSelector") for error in _selector_errors(resource or {}, name)]
    if metadata or (not is_local and review["metadata"]):
        detail = "must be empty except for namespace" if is_local else "must be empty"
        errors.append(invalid_field("metadata", review["metadata"], detail))
    if is_local and resource is not None and resource.get("namespace", "") != namespace:
        given = resource.get("namespace", "")
        errors.append(invalid_field("spec.resourceAttributes.namespace", given, "must match metadata.namespace"))
    if is_local and other is not None:
        errors.append(invalid_field("spec.nonResourceAttributes", other, "disallowed on this kind of request"))
    return errors


def _selector_errors(resource: Json, name: str) -> list[FieldError]:
    selector = resource.get(name)
    if selector is None:
        return []
    field, raw, requirements = f"spec.resourceAttributes.{name}", selector.get("rawSelector"), selector.get("requirements")
    if raw and requirements:
        return [invalid_field(f"{field}.rawSelector", raw, "may not specified at the same time as requirements")]
    if not raw and not requirements:
        detail = f"when {field} is specified, requirements or rawSelector is required"
        return [required(f"{field}.requirements", detail)]
    check = requirement_errors if name == "labelSelector" else _field_requirement_errors
    errors = [error for at, one in enumerate(requirements or ()) for error in check(one, f"{field}.requirements[{at}]")]
    return [error for error in errors if not error.field.endswith(".operator")]  # one of a newer client is ignored


def _field_requirement_errors(requirement: Json, field: str) -> list[FieldError]:
    missing = [] if requirement.get("key") else [required(f"{field}.key", "must be specified")]
    return missing + operator_errors(requirement, field)


def _evaluation_error(resource: Json) -> str:
    """Which selectors cannot be read. They only narrow an action, and roles know none, so nothing else depends on them."""
    fields = _ignored(resource.get("fieldSelector") or {}, parsed_terms, _is_field_requirement)
    labels = _ignored(resource.get("labelSelector") or {}, label_requirements, _is_label_requirement)
    faults = {"fieldSelector": fields, "labelSelector": labels}
    return "; ".join(f"spec.resourceAttributes.{name} {how} due to parse error" for name, how in faults.items() if how)


def _ignored(selector: Json, read: Callable[[str], object], is_readable: Callable[[Json], bool]) -> str:
    requirements = [is_readable(requirement) for requirement in selector.get("requirements") or ()]
    if requirements:
        return "" if all(requirements) else "partially ignored" if any(requirements) else "ignored"
    try:
        read(selector.get("rawSelector") or "")
    except StatusError:
        return "ignored"
    return ""


def _is_field_requirement(requirement: Json) -> bool:
    return requirement.get("operator") in ("In", "NotIn") and len(requirement.get("values") or ()) == 1


def _is_label_requirement(requirement: Json) -> bool:
    return not operator_errors(requirement, "")


def _action(spec: Json) -> Action:
    """The action that a valid review is about."""
    resource, other = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if resource is None:
        assert other is not None, "one of the two is there"
        return Action(other.get("verb", ""), path=other.get("path", ""))
    return Action(
        resource.get("verb", ""),
        resource.get("group", ""),
        resource.get("resource", ""),
        resource.get("subresource", ""),
        resource.get("namespace", ""),
        resource.get("name", ""),
    )


def _user_info(user: User) -> Json:
    info: Json = {"username": user.name, "groups": list(user.groups)}
    if user.uid:
        info["uid"] = user.uid
    if user.extra:
        info["extra"] = {key: list(values) for key, values in user.extra.items()}
    return info
