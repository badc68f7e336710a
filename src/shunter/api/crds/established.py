"""Whether an API server serves a CustomResourceDefinition that was made."""

from __future__ import annotations

from shunter.api.meta import Json


def is_established(crd: Json) -> bool:
    """Whether objects of it can be made, by what its status says."""
    conditions = (crd.get("status") or {}).get("conditions") or ()
    return any(condition["type"] == "Established" and condition["status"] == "True" for condition in conditions)
