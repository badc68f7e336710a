"""The claims of devices that a pod makes.

Source: k8s.io/kubernetes 1.36 `apis/core/validation`.
"""

from __future__ import annotations

from shunter.api.field_errors import FieldError, duplicate, invalid, required
from shunter.api.meta import Json
from shunter.api.names import label_faults, subdomain_faults
from shunter.cluster.apiserver.field_rules import faults


def resource_claim_errors(claims: list[Json], field: str) -> list[FieldError]:
    """The errors of `spec.resourceClaims`."""
    errors: list[FieldError] = []
    names: set[str] = set()
    for index, claim in enumerate(claims):
        here, name = f"{field}[{index}]", claim.get("name", "")
        if not name:
            errors.append(required(f"{here}.name"))
        elif name in names:
            errors.append(duplicate(f"{here}.name", name))
        else:
            errors += faults(f"{here}.name", name, label_faults(name))
        names.add(name)
        kinds = [kind for kind in ("resourceClaimName", "resourceClaimTemplateName") if kind in claim]
        if len(kinds) > 1:
            detail = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
            errors.append(invalid(here, claim, detail))
        elif not kinds:
            errors.append(invalid(here, claim, "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"))
        for kind in kinds:
            errors += faults(f"{here}.{kind}", claim[kind], subdomain_faults(claim[kind]))
    return errors
