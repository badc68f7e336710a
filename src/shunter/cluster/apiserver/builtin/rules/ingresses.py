"""What Ingresses and IngressClasses may say.

Source: k8s.io/kubernetes 1.36 `apis/networking/validation`.
"""

from __future__ import annotations

from shunter.api.field_errors import FieldError, forbidden, invalid, required
from shunter.api.formats import cidr
from shunter.api.meta import Json, annotations_of
from shunter.api.names import label_faults, path_segment_faults, port_faults, port_name_faults, subdomain_faults, wildcard_faults
from shunter.cluster.apiserver.field_rules import address_errors, changed, faults, one_of, prefixed_path_errors, unsupported

_CLASS_ANNOTATION = "kubernetes.io/ingress.class"
_PATH_TYPES = ["Exact", "ImplementationSpecific", "Prefix"]
_SCOPES = ["Cluster", "Namespace"]
_NOT_IN_PATHS = ("//", "/./", "/../", "%2f", "%2F")
_NOT_AT_THE_END = ("/..", "/.")


def ingress_errors(ingress: Json, old: Json | None) -> list[FieldError]:
    """The errors of an Ingress. It must have a default backend or a rule. Only on create must the annotation
    `kubernetes.io/ingress.class`, if set, agree with `ingressClassName`."""
    spec = ingress["spec"]
    rules, backend, name = spec.get("rules") or (), spec.get("defaultBackend"), spec.get("ingressClassName")
    errors = _backend_errors(backend, "spec.defaultBackend") if backend is not None else []
    if backend is None and not rules:
        errors.append(invalid("spec", None, "either `defaultBackend` or `rules` must be specified"))
    for index, rule in enumerate(rules):
        errors += _host_errors(f"spec.rules[{index}].host", rule.get("host") or "", may_be_address=False)
        errors += _path_list_errors(rule.get("http"), f"spec.rules[{index}].http.paths")
    for index, tls in enumerate(spec.get("tls") or ()):
        here = f"spec.tls[{index}]"
        for at, host in enumerate(tls.get("hosts") or ()):
            errors += _host_errors(f"{here}.hosts[{at}]", host, may_be_address=True)
        if secret := tls.get("secretName"):
            errors += faults(f"{here}.secretName", secret, subdomain_faults(secret))
    if name is not None:
        errors += faults("spec.ingressClassName", name, subdomain_faults(name))
        annotated = annotations_of(ingress).get(_CLASS_ANNOTATION)
        if old is None and annotated not in (None, name):
            detail = "must match `ingressClassName` when both are specified"
            errors.append(invalid(f"annotations.{_CLASS_ANNOTATION}", annotated, detail))
    return errors


def ingress_status_errors(ingress: Json, old: Json | None) -> list[FieldError]:
    """Addresses and names of its load balancers."""
    errors: list[FieldError] = []
    for index, balancer in enumerate((ingress["status"].get("loadBalancer") or {}).get("ingress") or ()):
        field = f"status.loadBalancer.ingress[{index}]"
        if address := balancer.get("ip"):
            errors += address_errors(f"{field}.ip", address)
        if name := balancer.get("hostname"):
            errors += faults(f"{field}.hostname", name, subdomain_faults(name))
    return errors


def ingress_class_errors(ingress_class: Json, old: Json | None) -> list[FieldError]:
    """`controller` is a domain-prefixed path such as `acme.io/foo`, and never changes."""
    spec = ingress_class["spec"]
    controller, parameters = spec.get("controller") or "", spec.get("parameters")
    errors = [] if old is None else changed("spec.controller", controller, old["spec"].get("controller") or "")
    return errors + prefixed_path_errors("spec.controller", controller) + _parameter_errors(parameters)


def _parameter_errors(parameters: Json | None) -> list[FieldError]:
    if parameters is None:
        return []
    field, errors = "spec.parameters", []
    for name in ("kind", "name"):
        value = parameters.get(name) or ""
        errors += faults(f"{field}.{name}", value, path_segment_faults(value)) if value else [required(f"{field}.{name}")]
    if group := parameters.get("apiGroup"):
        errors += faults(f"{field}.apiGroup", group, subdomain_faults(group))
    scope, namespace = parameters.get("scope") or "", parameters.get("namespace") or ""
    errors += one_of(f"{field}.scope", scope, _SCOPES)
    if scope == "Namespace":
        detail = "`parameters.scope` is set to 'Namespace'"
        here = f"{field}.namespace"
        errors += faults(here, namespace, label_faults(namespace)) if namespace else [required(here, detail)]
    if scope == "Cluster" and namespace:
        errors.append(forbidden(f"{field}.namespace", "`parameters.scope` is set to 'Cluster'"))
    return errors


def _host_errors(field: str, host: str, *, may_be_address: bool) -> list[FieldError]:
    if not host:
        return []
    if not may_be_address and cidr.address(host) is not None:
        return [invalid(field, host, "must be a DNS name, not an IP address")]
    return faults(field, host, wildcard_faults(host) if "*" in host else subdomain_faults(host))


def _path_list_errors(http: Json | None, field: str) -> list[FieldError]:
    if http is None:
        return []
    paths = http.get("paths") or ()
    errors = [] if paths else [required(field)]
    for index, path in enumerate(paths):
        errors += _path_errors(path, f"{field}[{index}]")
    return errors


def _path_errors(path: Json, field: str) -> list[FieldError]:
    kind, text = path.get("pathType"), path.get("path") or ""
    if kind is None:
        return [required(f"{field}.pathType", "pathType must be specified")]
    errors: list[FieldError] = []
    if kind not in _PATH_TYPES:
        errors.append(unsupported(f"{field}.pathType", kind, _PATH_TYPES))
    is_absolute = text.startswith("/")
    if not is_absolute and (kind in ("Exact", "Prefix") or text):
        errors.append(invalid(f"{field}.path", text, "must be an absolute path"))
    elif kind in ("Exact", "Prefix"):
        errors += [invalid(f"{field}.path", text, f"must not contain '{part}'") for part in _NOT_IN_PATHS if part in text]
        errors += [invalid(f"{field}.path", text, f"cannot end with '{end}'") for end in _NOT_AT_THE_END if text.endswith(end)]
    return errors + _backend_errors(path.get("backend") or {}, f"{field}.backend")


def _backend_errors(backend: Json, field: str) -> list[FieldError]:
    service, resource = backend.get("service"), backend.get("resource")
    if service is not None and resource is not None:
        return [invalid(field, "", "cannot set both resource and service backends")]
    if resource is not None:
        return [required(f"{field}.resource.{name}") for name in ("kind", "name") if not resource.get(name)]
    if service is None:
        return [invalid(field, "", "resource or service backend is required")]
    name, port = service.get("name") or "", service.get("port") or {}
    here = f"{field}.service"
    errors = faults(f"{here}.name", name, label_faults(name)) if name else [required(f"{here}.name")]
    number, port_name = port.get("number") or 0, port.get("name") or ""
    if number and port_name:
        return [*errors, invalid(field, "", "cannot set both port name & port number")]
    if number:
        return errors + faults(f"{here}.port.number", number, port_faults(number))
    if port_name:
        return errors + faults(f"{here}.port.name", port_name, port_name_faults(port_name))
    return [*errors, required(field, "port name or number is required")]
