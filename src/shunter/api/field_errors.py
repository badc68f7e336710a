"""Field errors in apimachinery's words: what users, SDKs and upstream's own tests match on.

Source: k8s.io/apimachinery `util/validation/field` (texts seen in the recordings). Used by the embedded API server's validation
and by the operator's admission webhooks alike.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

from shunter.api.formats.go_values import go_quoted

ErrorType = Literal[
    "FieldValueInvalid",
    "FieldValueRequired",
    "FieldValueDuplicate",
    "FieldValueForbidden",
    "FieldValueNotFound",
    "FieldValueNotSupported",
    "FieldValueTooLong",
    "FieldValueTooMany",
    "FieldValueTypeInvalid",
    "InternalError",
]


class FieldError(NamedTuple):
    """One fault at one field; `reason` is what `status.details.causes[].reason` carries."""

    reason: ErrorType
    field: str
    body: str

    def __str__(self) -> str:
        return f"{self.field}: {self.body}"


def invalid(field: str, value: Any, detail: str) -> FieldError:
    """`spec.replicas: Invalid value: -1: must be greater than or equal to 0`; the value alone where there is no detail."""
    text = f"Invalid value: {value_text(value)}"
    return FieldError("FieldValueInvalid", field, f"{text}: {detail}" if detail else text)


def type_invalid(field: str, value: Any, detail: str) -> FieldError:
    """Reads like `invalid`; only the reason says that the value is of another type than it must be."""
    return FieldError("FieldValueTypeInvalid", field, f"Invalid value: {value_text(value)}: {detail}")


def required(field: str, detail: str = "") -> FieldError:
    """`spec.template: Required value`, followed by the detail if there is one: of a value that is missing, or empty."""
    return FieldError("FieldValueRequired", field, f"Required value: {detail}" if detail else "Required value")


def forbidden(field: str, detail: str) -> FieldError:
    """`FIELD: Forbidden: DETAIL`: the field may not be set, or changed, and no value is shown."""
    return FieldError("FieldValueForbidden", field, f"Forbidden: {detail}")


def not_found(field: str, value: Any) -> FieldError:
    """`FIELD: Not found: VALUE`: the value names what is not there."""
    return FieldError("FieldValueNotFound", field, f"Not found: {value_text(value)}")


def duplicate(field: str, value: Any) -> FieldError:
    """`spec.ports[1].name: Duplicate value: "http"`: of a value that may stand in its list only once."""
    return FieldError("FieldValueDuplicate", field, f"Duplicate value: {value_text(value)}")


def not_supported(field: str, value: Any, supported: list[str]) -> FieldError:
    """`supported` in the order in which it is shown: a schema's enum as written, the rules of Kubernetes itself sorted."""
    allowed = ", ".join(map(go_quoted, supported))
    return FieldError("FieldValueNotSupported", field, f"Unsupported value: {value_text(value)}: supported values: {allowed}")


def too_long(field: str, maximum: int) -> FieldError:
    """`maximum` is in bytes; the value itself is not shown."""
    return FieldError(
        "FieldValueTooLong", field, f"Too long: may not be more than {maximum} {'byte' if maximum == 1 else 'bytes'}"
    )


def too_many(field: str, actual: int, maximum: int) -> FieldError:
    """The error for a list of `actual` elements that may have at most `maximum`."""
    noun = "item" if maximum == 1 else "items"
    return FieldError("FieldValueTooMany", field, f"Too many: {actual}: must have at most {maximum} {noun}")


def aggregate(errors: Iterable[object]) -> str:
    """Several faults as apimachinery joins them: one stands alone, more stand in brackets, repeats are dropped."""
    texts = list(dict.fromkeys(str(error) for error in errors))
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


def new_errors(errors: list[FieldError], before: list[FieldError]) -> list[FieldError]:
    """The errors that an update introduces. Errors that the stored object already had must not block the update."""
    return [error for error in errors if error not in before]


def value_text(value: Any) -> str:
    """A bad value as Go prints it inside an error: strings quoted, null for nil, the rest as compact JSON, safe for HTML."""
    if isinstance(value, str):
        return go_quoted(value)
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    if isinstance(value, (dict, list)):
        for char, escape in (("<", "\\u003c"), (">", "\\u003e"), ("&", "\\u0026")):
            text = text.replace(char, escape)
    return text
