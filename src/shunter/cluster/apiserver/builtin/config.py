"""ConfigMap and Secret: keys that become file names, a limit of 1 MiB, and `immutable`.

Source: k8s.io/kubernetes 1.36 `apis/core/validation`, `registry/core/secret`.
"""

from __future__ import annotations

import base64
import json
from typing import Any

from shunter.api.field_errors import FieldError, forbidden, invalid, required, too_long
from shunter.api.meta import Json, annotations_of
from shunter.api.names import config_key_faults
from shunter.api.resources import CONFIG_MAPS, SECRETS
from shunter.cluster.apiserver.builtin.typed import typed
from shunter.cluster.apiserver.field_rules import changed, faults
from shunter.cluster.apiserver.kinds import Kind

_LIMIT = 1024 * 1024
_FROZEN = "field is immutable when `immutable` is set"
_NEEDED_KEYS = {
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
}
_JSON_NAMES = {list: "array", str: "string", bool: "bool"}
_GO_MAP = "map[string]interface {}"


def kinds() -> list[Kind]:
    """ConfigMap and Secret. The `stringData` of a Secret is never stored: it becomes `data`, where it wins over what stands
    there."""
    return [
        typed(
            CONFIG_MAPS, short_names=("cm",), tracks_generation=False, default=_default_config_map, validate=_config_map_errors
        ),
        typed(
            SECRETS,
            tracks_generation=False,
            selectable_fields=("type",),
            default=_default_secret,
            validate=_secret_errors,
        ),
    ]


def _default_config_map(config_map: Json) -> None:
    _empty_nulls(config_map, "binaryData")


def _default_secret(secret: Json) -> None:
    secret.setdefault("type", "Opaque")
    _empty_nulls(secret, "data")
    plain = secret.pop("stringData", None)
    if plain:
        secret["data"] = {
            **secret.get("data", {}),
            **{key: base64.b64encode(text.encode()).decode() for key, text in plain.items()},
        }


def _empty_nulls(obj: Json, name: str) -> None:
    """No bytes are stored as empty ones."""
    if name in obj:
        obj[name] = {key: "" if value is None else value for key, value in obj[name].items()}


def _config_map_errors(config_map: Json, old: Json | None) -> list[FieldError]:
    data, binary = config_map.get("data", {}), config_map.get("binaryData", {})
    errors = _frozen_errors(config_map, old, ("data", "binaryData"))
    for key in data:
        errors += faults(f"data[{key}]", key, config_key_faults(key))
        if key in binary:
            errors.append(invalid(f"data[{key}]", key, "duplicate of key present in binaryData"))
    for key in binary:
        errors += faults(f"binaryData[{key}]", key, config_key_faults(key))
    if sum(len(text.encode()) for text in data.values()) + sum(map(_size, binary.values())) > _LIMIT:
        errors.append(too_long("[]", _LIMIT))
    return errors


def _secret_errors(secret: Json, old: Json | None) -> list[FieldError]:
    data, kind = secret.get("data", {}), secret["type"]
    errors = changed("type", kind, old["type"]) if old is not None else []
    errors += _frozen_errors(secret, old, ("data",))
    for key in data:
        errors += faults(f"data[{key}]", key, config_key_faults(key))
    if sum(map(_size, data.values())) > _LIMIT:
        errors.append(too_long("data", _LIMIT))
    if kind == "kubernetes.io/service-account-token":
        name = "kubernetes.io/service-account.name"
        if not annotations_of(secret).get(name):
            errors.append(required(f"metadata.annotations[{name}]"))
    if kind == "kubernetes.io/basic-auth" and not {"username", "password"} & data.keys():
        errors += [required("data[username]"), required("data[password]")]
    for key in _NEEDED_KEYS.get(kind, ()):
        if key not in data or (key == "ssh-privatekey" and not data[key]):
            errors.append(required(f"data[{key}]"))
        elif key.startswith(".docker"):
            errors += _json_errors(data[key], f"data[{key}]")
    return errors


def _frozen_errors(new: Json, old: Json | None, names: tuple[str, ...]) -> list[FieldError]:
    if old is None or not old.get("immutable"):
        return []
    errors = [] if new.get("immutable") else [forbidden("immutable", _FROZEN)]
    return errors + [forbidden(name, _FROZEN) for name in names if new.get(name, {}) != old.get(name, {})]


def _json_errors(encoded: str, field: str) -> list[FieldError]:
    if not encoded:
        return [invalid(field, "<secret contents redacted>", "unexpected end of JSON input")]
    try:
        parsed: Any = json.loads(base64.b64decode(encoded), parse_constant=_refuse_constant)
    except ValueError as error:
        return [invalid(field, "<secret contents redacted>", str(error))]
    except RecursionError:
        return [invalid(field, "<secret contents redacted>", "exceeded max depth")]
    if parsed is None or isinstance(parsed, dict):
        return []
    name = _JSON_NAMES.get(type(parsed), "number")
    return [invalid(field, "<secret contents redacted>", f"json: cannot unmarshal {name} into Go value of type {_GO_MAP}")]


def _refuse_constant(name: str) -> None:
    """NaN and Infinity, which Python reads and JSON does not have."""
    raise ValueError(f"invalid character '{name[0]}' looking for beginning of value")


def _size(encoded: str) -> int:
    return len(encoded) * 3 // 4 - encoded.count("=", -2)
