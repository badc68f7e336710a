"""What names and amounts of resources may be, in containers, quotas and limit ranges.

Source: k8s.io/kubernetes 1.36 `apis/core/validation` and `apis/core/helper`.
"""

from __future__ import annotations

from collections.abc import Collection
from fractions import Fraction

from shunter.api.field_errors import FieldError, invalid
from shunter.api.formats.quantity import parse
from shunter.api.names import label_key_faults
from shunter.cluster.apiserver.field_rules import faults

COUNTED = frozenset(
    (
        "pods",
        "services",
        "services.nodeports",
        "services.loadbalancers",
        "replicationcontrollers",
        "resourcequotas",
        "secrets",
        "configmaps",
        "persistentvolumeclaims",
    )
)
"""Objects, which come in whole numbers."""
_CONTAINER_RESOURCES = frozenset(("cpu", "memory", "ephemeral-storage"))
_STANDARD_RESOURCES = (
    COUNTED
    | {"storage", "requests.storage"}
    | {f"{kind}{name}" for kind in ("", "requests.", "limits.") for name in _CONTAINER_RESOURCES}
)
_QUOTA_RESOURCES = _STANDARD_RESOURCES - {"storage"}
_HUGE_PAGES = ("hugepages-", "requests.hugepages-")


def resource_name_errors(name: str, field: str) -> list[FieldError]:
    """A name with a domain, such as `nvidia.com/gpu`, or one that Kubernetes knows: `cpu`, `requests.cpu`, `pods`,
    `hugepages-2Mi`."""
    errors = faults(field, name, label_key_faults(name))
    if errors or "/" in name or name in _STANDARD_RESOURCES or name.startswith(_HUGE_PAGES):
        return errors
    return [invalid(field, name, "must be a standard resource type or fully qualified")]


def container_resource_name_errors(name: str, field: str) -> list[FieldError]:
    """The errors of a resource name: without a domain only `cpu`, `memory`, `ephemeral-storage` and huge pages are allowed. A
    name that Kubernetes does not know has two errors."""
    errors = resource_name_errors(name, field)
    if "/" not in name:
        if name not in _CONTAINER_RESOURCES and not name.startswith("hugepages-"):
            errors.append(invalid(field, name, "must be a standard resource for containers"))
    elif "kubernetes.io/" not in name and not _is_extended(name):
        errors.append(invalid(field, name, "doesn't follow extended resource name standard"))
    return errors


def quota_resource_name_errors(name: str, field: str) -> list[FieldError]:
    """Names with a domain pass, `requests.nvidia.com/gpu` and `count/jobs.batch` among them; `storage` alone does not."""
    errors = resource_name_errors(name, field)
    if "/" not in name and not is_quota_resource(name):
        errors.append(invalid(field, name, "must be a standard resource for quota"))
    return errors


def is_quota_resource(name: str) -> bool:
    """Whether it is one of those that quotas know by name."""
    return name in _QUOTA_RESOURCES or name.startswith(_HUGE_PAGES)


def amount_errors(name: str, amount: str, field: str, *, whole: Collection[str] = ()) -> list[FieldError]:
    """Amounts of devices are whole numbers, and of what is named in `whole`."""
    value = parse(amount)
    errors = [invalid(field, amount, "must be greater than or equal to 0")] if value < 0 else []
    is_whole = name in whole or ("/" in name and "kubernetes.io/" not in name and _is_extended(name))
    if is_whole and value.denominator != 1:
        errors.append(invalid(field, amount, "must be an integer"))
    return errors


def huge_page_errors(name: str, amount: str, field: str) -> list[FieldError]:
    """Amounts of huge pages are multiples of the size in the name, in whole bytes."""
    if not name.startswith("hugepages-"):
        return []
    try:
        size = parse(name.removeprefix("hugepages-"))
    except ValueError:
        size = Fraction(0)
    if size > 0 and size.denominator == 1 and parse(amount) % size == 0:
        return []
    return [invalid(field, amount, f"{amount} is not positive integer multiple of {name}")]


def _is_extended(name: str) -> bool:
    return not name.startswith("requests.") and not label_key_faults(f"requests.{name}")
