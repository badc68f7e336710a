"""What expressions of admission ask the authorizer: `authorizer.group('').resource('pods').check('get').allowed()`.

Each step is a plain value, as in cel_functions.py, whose text is JSON; who decides is known while an expression is evaluated.
Source: k8s.io/apiserver 1.36 `cel/library/authz.go`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeAlias

from shunter.api.meta import Json

Decide: TypeAlias = Callable[[Json], tuple[bool, str]]
"""Whether an action is allowed, and why. The action: `user`, `groups` and `verb`; `path`, or the resource's `group`, `resource`,
`subresource`, `namespace` and `name`, as far as the expression says them."""

_ACTION = "kubernetes.authorization.Action"
_DECISION = "kubernetes.authorization.Decision"
_decide: ContextVar[Decide] = ContextVar("decide")


@contextmanager
def deciding(decide: Decide) -> Iterator[None]:
    """While it is open, `decide` answers the checks of expressions."""
    token = _decide.set(decide)
    try:
        yield
    finally:
        _decide.reset(token)


def authorizer(user: str, groups: list[str], resource: Json) -> Json:
    """The variable `authorizer` for a user's request; `resource` is the action on what the request is about."""
    who: Json = {"user": user, "groups": groups}
    return {**_value(_ACTION, who), "requestResource": _value(_ACTION, {**who, **resource})}


def declare(member: Callable[[str, Any, list[Any], Callable[..., Any]], None], kinds: Any) -> None:
    """Declares the functions by `member(name, result, parameters, function)`."""
    text, anything = kinds.STRING, kinds.DYN
    for name in ("path", "group", "resource", "subresource", "namespace", "name"):
        member(name, anything, [anything, text], lambda value, said, name=name: _with(value, {name: said}))
    for name in ("fieldSelector", "labelSelector"):
        member(name, anything, [anything, text], lambda value, said: _with(value, {}))
    member("serviceAccount", anything, [anything, text, text], _service_account)
    member("check", anything, [anything, text], _checked)
    member("allowed", kinds.BOOL, [anything], lambda value: _member(value, _DECISION)["allowed"])
    member("reason", text, [anything], lambda value: _member(value, _DECISION)["reason"])
    member("errored", kinds.BOOL, [anything], lambda value: bool(_member(value, _DECISION)["error"]))
    member("error", text, [anything], lambda value: _member(value, _DECISION)["error"])


def _member(value: Any, kind: str) -> Json:
    if not isinstance(value, Mapping) or kind not in value:
        raise ValueError("no such overload")
    held: Json = json.loads(value[kind])
    return held


def _value(kind: str, held: Json) -> Json:
    return {kind: json.dumps(held)}


def _with(value: Any, said: Json) -> Json:
    return _value(_ACTION, {**_member(value, _ACTION), **said})


def _service_account(value: Any, namespace: str, name: str) -> Json:
    groups = ["system:serviceaccounts", f"system:serviceaccounts:{namespace}"]
    return _with(value, {"user": f"system:serviceaccount:{namespace}:{name}", "groups": groups})


def _checked(value: Any, verb: str) -> Json:
    allowed, reason = _decide.get()({**_member(value, _ACTION), "verb": verb})
    return _value(_DECISION, {"allowed": allowed, "reason": reason, "error": ""})
