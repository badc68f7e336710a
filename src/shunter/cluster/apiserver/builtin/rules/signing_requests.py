"""What requests for certificates may say, and how their approval and their certificate may change.

Source: k8s.io/kubernetes 1.36 `apis/certificates/validation`; `ValidateSignerName` in `apis/core/validation`.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence

from shunter.api.field_errors import FieldError, duplicate, forbidden, invalid, required, too_long
from shunter.api.formats.go_values import go_quoted
from shunter.api.meta import Json
from shunter.api.names import label_faults, subdomain_faults
from shunter.cluster.apiserver.field_rules import unsupported
from shunter.kube.tls.requests import CERTIFICATE, RequestError, is_certificate, pem_blocks, subject_of

LEGACY_SIGNER = "kubernetes.io/legacy-unknown"
DECISIONS = ("Approved", "Denied")
FINAL = (*DECISIONS, "Failed")
USAGES = sorted(
    (
        *("any", "cert sign", "client auth", "code signing", "content commitment", "crl sign", "data encipherment"),
        *("decipher only", "digital signature", "email protection", "encipher only", "ipsec end system", "ipsec tunnel"),
        *("ipsec user", "key agreement", "key encipherment", "microsoft sgc", "netscape sgc", "ocsp signing", "s/mime"),
        *("server auth", "signing", "timestamping"),
    )
)
_SHORTEST = 600
_LONGEST_DOMAIN = 253
_LONGEST_SIGNER = 571
_CONDITIONS = "status.conditions"
_CERTIFICATE_FIELD = "status.certificate"


def request_errors(request: Json, old: Json | None) -> list[FieldError]:
    """The errors of a write that neither decides nor signs. An update changes nothing of spec and status, so only a create is
    checked."""
    return spec_errors(request["spec"]) if old is None else []


def spec_errors(spec: Json) -> list[FieldError]:
    """What is wrong with the request itself."""
    errors: list[FieldError] = []
    try:
        subject_of(base64.b64decode(spec.get("request") or ""))
    except RequestError as error:
        errors.append(invalid("spec.request", spec.get("request"), str(error)))
    usages = spec.get("usages") or ()
    if not usages:
        errors.append(required("spec.usages"))
    errors += [unsupported(f"spec.usages[{at}]", usage, USAGES) for at, usage in enumerate(usages) if usage not in USAGES]
    errors += [duplicate(f"spec.usages[{at}]", usage) for at, usage in enumerate(usages) if usage in usages[:at]]
    signer = spec.get("signerName") or ""
    if signer == LEGACY_SIGNER:
        errors.append(invalid("spec.signerName", signer, "the legacy signerName is not allowed via this API version"))
    else:
        errors += signer_name_errors("spec.signerName", signer)
    seconds = spec.get("expirationSeconds")
    if seconds is not None and seconds < _SHORTEST:
        detail = "may not specify a duration less than 600 seconds (10 minutes)"
        errors.append(invalid("spec.expirationSeconds", seconds, detail))
    return errors


def signer_name_errors(field: str, name: str) -> list[FieldError]:
    """`example.com/signer`: a domain of two labels at least, and a path."""
    if not name:
        return [required(field)]
    segments = name.split("/")
    if len(segments) != 2:
        return [invalid(field, name, "must be a fully qualified domain and path of the form 'example.com/signer-name'")]
    domain, path = segments
    labels = domain.split(".")
    errors = [too_long(field, _LONGEST_DOMAIN)] if len(domain) > _LONGEST_DOMAIN else []
    errors += _first_faults(field, domain, [(label, label_faults(label)) for label in labels])
    if len(labels) < 2:
        errors.append(invalid(field, domain, "should be a domain with at least two segments separated by dots"))
    errors += _first_faults(field, path, [(label, subdomain_faults(label)) for label in path.split(".")])
    return [*errors, too_long(field, _LONGEST_SIGNER)] if len(name) > _LONGEST_SIGNER else errors


def _first_faults(field: str, value: str, labels: Sequence[tuple[str, list[str]]]) -> list[FieldError]:
    label, found = next(((label, found) for label, found in labels if found), ("", []))
    return [invalid(field, value, f"validating label {go_quoted(label)}: {fault}") for fault in found]


def status_errors(request: Json, old: Json | None) -> list[FieldError]:
    """The errors of a write of the status, which may set the certificate but decides nothing."""
    assert old is not None, "a status is of something that is there"
    errors = _condition_errors(_conditions(request))
    before, after = _certificate(old), _certificate(request)
    if before != after and (why := certificate_fault(after)):
        errors.append(invalid(_CERTIFICATE_FIELD, "<certificate data>", why))
    errors += _removed(request, old)
    for kind in DECISIONS:
        given, kept = _of_type(request, kind), _of_type(old, kind)
        if len(given) > len(kept):
            errors.append(forbidden(_CONDITIONS, f'updates may not add a condition of type "{kind}"'))
    if before and before != after:
        errors.append(forbidden(_CERTIFICATE_FIELD, "updates may not modify existing certificate content"))
    return errors


def approval_errors(request: Json, old: Json | None) -> list[FieldError]:
    """The errors of a write of the approval, which changes conditions only."""
    assert old is not None, "an approval is of something that is there"
    return _condition_errors(_conditions(request)) + _removed(request, old)


def certificate_fault(content: bytes) -> str:
    """Why it is not a chain of certificates in PEM; empty where it is one, or nothing."""
    blocks = list(pem_blocks(content))
    for block in blocks:
        if block.type != CERTIFICATE:
            return f"only {CERTIFICATE} PEM blocks are allowed, found {go_quoted(block.type)}"
        if block.has_headers:
            return "no PEM block headers are permitted"
        if not is_certificate(block.content):
            return "x509: malformed certificate"
    return "" if blocks or not content else f"must contain at least one {CERTIFICATE} PEM block"


def _condition_errors(conditions: list[Json]) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: list[str] = []
    for at, one in enumerate(conditions):
        here, kind, status = f"{_CONDITIONS}[{at}]", one.get("type") or "", one.get("status") or ""
        choices = ["True"] if kind in FINAL else ["False", "True", "Unknown"]
        if not kind:
            errors.append(required(f"{here}.type"))
        if not status:
            errors.append(required(f"{here}.status"))
        elif status not in choices:
            errors.append(unsupported(f"{here}.status", status, choices))
        if kind in DECISIONS and any(other in seen for other in DECISIONS if other != kind):
            errors.append(invalid(_CONDITIONS, kind, "Approved and Denied conditions are mutually exclusive"))
        if kind in seen:
            errors.append(duplicate(f"{here}.type", kind))
        seen.append(kind)
    return errors


def _removed(request: Json, old: Json) -> list[FieldError]:
    return [
        forbidden(_CONDITIONS, f'updates may not remove a condition of type "{kind}"')
        for kind in FINAL
        if len(_of_type(request, kind)) < len(_of_type(old, kind))
    ]


def _conditions(request: Json) -> list[Json]:
    conditions: list[Json] = (request.get("status") or {}).get("conditions") or []
    return conditions


def _of_type(request: Json, kind: str) -> list[Json]:
    return [one for one in _conditions(request) if one.get("type") == kind]


def _certificate(request: Json) -> bytes:
    return base64.b64decode((request.get("status") or {}).get("certificate") or "")
