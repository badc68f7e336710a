"""Rules that several kinds share: labels, selectors, numbers, fields that never change."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from shunter.api.field_errors import FieldError, forbidden, invalid, not_supported, required, too_long
from shunter.api.formats import cidr
from shunter.api.formats.go_values import go_quoted
from shunter.api.meta import Json
from shunter.api.names import label_key_faults, label_value_faults, prefixed_path_faults, subdomain_faults

IMMUTABLE = "field is immutable"
_LONGEST_DRIVER = 63
_key_faults = lru_cache(maxsize=4096)(label_key_faults)
_value_faults = lru_cache(maxsize=4096)(label_value_faults)


def faults(field: str, value: Any, texts: Iterable[str]) -> list[FieldError]:
    """One error for each fault of a value."""
    return [invalid(field, value, text) for text in texts]


def invalid_as_a_whole(field: str, detail: str) -> FieldError:
    """Invalid without showing the value."""
    return FieldError("FieldValueInvalid", field, f"Invalid value: {detail}")


def negative(field: str, value: int | None) -> list[FieldError]:
    """One fault where the number is below 0; None is no fault."""
    return [invalid(field, value, "must be greater than or equal to 0")] if value is not None and value < 0 else []


def changed(field: str, new: Any, old: Any, *, shown: Any = None) -> list[FieldError]:
    """A field that never changes; `shown` is what the error prints when that is not the new value itself."""
    return [] if new == old else [invalid(field, new if shown is None else shown, IMMUTABLE)]


def one_of(field: str, value: str, supported: list[str]) -> list[FieldError]:
    """Required, and one of these (told in this order)."""
    if not value:
        return [required(field)]
    return [] if value in supported else [unsupported(field, value, supported)]


def unsupported(field: str, value: Any, supported: list[str]) -> FieldError:
    """`not_supported` with the choices in the order given."""
    error = not_supported(field, value, supported)
    listed = ", ".join(map(go_quoted, supported))
    return error._replace(body=f"{error.body.partition(': supported values: ')[0]}: supported values: {listed}")


def address_errors(field: str, text: str) -> list[FieldError]:
    """An IP address of either family."""
    return faults(field, text, cidr.address_faults(text))


def driver_name_errors(field: str, name: str) -> list[FieldError]:
    """The name of a CSI driver."""
    if not name:
        return [required(field)]
    errors = [too_long(field, _LONGEST_DRIVER)] if len(name) > _LONGEST_DRIVER else []
    return errors + faults(field, name, subdomain_faults(name.lower()))


def label_errors(labels: Json, field: str) -> list[FieldError]:
    """Errors of keys and values; each names `field` itself."""
    errors: list[FieldError] = []
    for key, value in labels.items():
        errors += faults(field, key, _key_faults(key))
        errors += faults(field, value, _value_faults(value))
    return errors


def annotation_errors(annotations: Json, field: str) -> list[FieldError]:
    """Errors of the keys only, whose domain may have capitals, too; each names `field` itself."""
    return [error for key in annotations for error in faults(field, key, _key_faults(key.lower()))]


def selector_errors(selector: Json | None, field: str) -> list[FieldError]:
    """A metav1.LabelSelector."""
    if not selector:
        return []
    errors = label_errors(selector.get("matchLabels", {}), f"{field}.matchLabels")
    for index, requirement in enumerate(selector.get("matchExpressions", ())):
        errors += requirement_errors(requirement, f"{field}.matchExpressions[{index}]")
    return errors


def requirement_errors(requirement: Json, field: str) -> list[FieldError]:
    """An entry of `matchExpressions`."""
    errors = operator_errors(requirement, field)
    errors += faults(f"{field}.key", requirement.get("key", ""), _key_faults(requirement.get("key", "")))
    for at, value in enumerate(requirement.get("values") or ()):
        errors += faults(f"{field}.values[{at}]", value, _value_faults(value))
    return errors


def operator_errors(requirement: Json, field: str) -> list[FieldError]:
    """The operator of a requirement, and whether it has values."""
    operator, values = requirement.get("operator", ""), requirement.get("values")
    if operator in ("In", "NotIn"):
        return [] if values else [required(f"{field}.values", "must be specified when `operator` is 'In' or 'NotIn'")]
    if operator not in ("Exists", "DoesNotExist"):
        return [invalid(f"{field}.operator", operator, "not a valid selector operator")]
    detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
    return [forbidden(f"{field}.values", detail)] if values else []


def prefixed_path_errors(field: str, value: str) -> list[FieldError]:
    """A domain-prefixed path such as `acme.io/foo`."""
    if not value:
        return [required(field)]
    return [invalid(field, part, fault) for part, fault in prefixed_path_faults(value)]
