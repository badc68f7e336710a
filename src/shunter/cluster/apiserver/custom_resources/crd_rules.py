"""Validation of CustomResourceDefinitions, except of the schemas in them (schema.structure).

Source: apiextensions-apiserver 1.36 `apis/apiextensions/validation`.
"""

from __future__ import annotations

from shunter.api.field_errors import FieldError, duplicate, forbidden, invalid, required, too_many
from shunter.api.meta import Json, annotations_of
from shunter.api.names import label_1035_faults, subdomain_faults
from shunter.cluster.apiserver.field_rules import changed, invalid_as_a_whole, unsupported
from shunter.cluster.apiserver.schema.structure import structure_errors

_COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_SHARED_PARTS = {
    "schema": "spec.validation",
    "subresources": "spec.subresources",
    "additionalPrinterColumns": "spec.additionalPrinterColumns",
    "selectableFields": "spec.selectableFields",
}
"""The field that errors name for a part that is equal in all versions: the real server keeps such parts above the versions."""
_SELECTABLE_LIMIT = 8
_SELECTABLE_TYPES = (
    "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed."
)
_APPROVAL = "api-approved.kubernetes.io"


def crd_errors(crd: Json, old: Json | None) -> list[FieldError]:
    """The faults of a CRD. A schema that an update leaves as it is was checked before."""
    spec, names = crd["spec"], crd["spec"]["names"]
    errors: list[FieldError] = []
    name, expected = crd["metadata"].get("name", ""), f"{names.get('plural', '')}.{spec.get('group', '')}"
    if old is None and name and name != expected:
        errors.append(invalid("metadata.name", name, 'must be spec.names.plural+"."+spec.group'))
    errors += _group_errors(spec.get("group", ""))
    scope = spec.get("scope", "")
    if not scope:
        errors.append(required("spec.scope"))
    elif scope not in ("Cluster", "Namespaced"):
        errors.append(unsupported("spec.scope", scope, ["Cluster", "Namespaced"]))
    errors += _version_list_errors(spec.get("versions") or [], old)
    errors += [required(f"spec.names.{key}") for key in ("plural", "singular", "kind", "listKind") if not names.get(key)]
    errors += _name_errors(names)
    if spec["conversion"].get("strategy") not in ("None", "Webhook"):
        errors.append(unsupported("spec.conversion.strategy", spec["conversion"].get("strategy", ""), ["None", "Webhook"]))
    if old is not None:
        errors += _update_errors(spec, old["spec"])
    return errors + _approval_errors(crd)


def _group_errors(group: str) -> list[FieldError]:
    if not group:
        return [required("spec.group")]
    if found := subdomain_faults(group):
        return [invalid("spec.group", group, ",".join(found))]
    return [] if "." in group else [invalid("spec.group", group, "should be a domain with at least one dot")]


def _version_list_errors(versions: list[Json], old: Json | None) -> list[FieldError]:
    before = {version["name"]: version for version in (old["spec"]["versions"] if old else ())}
    errors: list[FieldError] = []
    for index, version in enumerate(versions):
        here = f"spec.versions[{index}]"
        if found := label_1035_faults(version.get("name", "")):
            errors.append(invalid(f"{here}.name", version.get("name", ""), ",".join(found)))
        places = {part: place if _is_shared(versions, part) else f"{here}.{part}" for part, place in _SHARED_PARTS.items()}
        errors += _version_errors(version, before.get(version.get("name", "")), places, here)
    names = [version.get("name", "") for version in versions]
    if len(set(names)) < len(names):
        errors.append(invalid_as_a_whole("spec.versions", "must contain unique version names"))
    if sum(bool(version.get("storage")) for version in versions) != 1:
        errors.append(invalid_as_a_whole("spec.versions", "must have exactly one version marked as storage version"))
    if not any(version.get("storage") for version in versions):
        errors.append(invalid("status.storedVersions", None, "must have at least one stored version"))
    if names and (found := label_1035_faults(names[0])):
        errors.append(invalid("spec.version", names[0], ",".join(found)))
    return errors


def _is_shared(versions: list[Json], part: str) -> bool:
    return all(version.get(part) == versions[0].get(part) for version in versions)


def _version_errors(version: Json, old: Json | None, places: dict[str, str], field: str) -> list[FieldError]:
    schema = (version.get("schema") or {}).get("openAPIV3Schema")
    errors: list[FieldError] = []
    if schema is None:
        errors.append(required(f"{field}.schema.openAPIV3Schema"))
    elif old is None or (old.get("schema") or {}).get("openAPIV3Schema") != schema:
        errors += structure_errors(schema, f"{places['schema']}.openAPIV3Schema")
    scale = (version.get("subresources") or {}).get("scale")
    if scale is not None:
        errors += _scale_errors(scale, f"{places['subresources']}.scale")
    for index, column in enumerate(version.get("additionalPrinterColumns", ())):
        errors += _column_errors(column, f"{places['additionalPrinterColumns']}[{index}]")
    return errors + _selectable_errors(version.get("selectableFields", []), schema or {}, places["selectableFields"])


def _scale_errors(scale: Json, field: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for name, roots in (
        ("specReplicasPath", (".spec.",)),
        ("statusReplicasPath", (".status.",)),
        ("labelSelectorPath", (".spec.", ".status.")),
    ):
        path = scale.get(name, "")
        if not path:
            errors += [] if name == "labelSelectorPath" else [required(f"{field}.{name}")]
        elif not path.startswith("."):
            errors.append(invalid(f"{field}.{name}", path, "must be a simple json path starting with ."))
        elif not path.startswith(roots):
            where = roots[0][:-1] if len(roots) == 1 else "either .spec or .status"
            errors.append(invalid(f"{field}.{name}", path, f"should be a json path under {where}"))
    return errors


def _column_errors(column: Json, field: str) -> list[FieldError]:
    kind, format_, path = column.get("type", ""), column.get("format", ""), column.get("jsonPath", "")
    errors = [] if column.get("name") else [required(f"{field}.name")]
    text = f"must be one of {','.join(_COLUMN_TYPES)}"
    if not kind:
        errors.append(required(f"{field}.type", text))
    elif kind not in _COLUMN_TYPES:
        errors.append(invalid(f"{field}.type", kind, text))
    if format_ and format_ not in _COLUMN_FORMATS:
        errors.append(invalid(f"{field}.format", format_, f"must be one of {','.join(_COLUMN_FORMATS)}"))
    if not path:
        errors.append(required(f"{field}.JSONPath"))
    elif not path.startswith("."):
        errors.append(invalid(f"{field}.JSONPath", path, "must be a simple json path starting with ."))
    return errors


def _selectable_errors(fields: list[Json], schema: Json, where: str) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    for index, selectable in enumerate(fields):
        here, path = f"{where}[{index}].jsonPath", selectable.get("jsonPath", "")
        if not path:
            errors.append(required(here))
            continue
        found = _schema_at(schema, path)
        if found is None:
            errors.append(invalid(here, path, "is an invalid path: does not refer to a valid field"))
            continue
        if path.startswith(".metadata"):
            errors.append(invalid(here, path, "must not point to fields in metadata"))
        if found.get("type") not in ("string", "boolean", "integer"):
            errors.append(invalid(here, path, _SELECTABLE_TYPES))
        if path in seen:
            errors.append(duplicate(here, path))
        seen.add(path)
    if len(seen) > _SELECTABLE_LIMIT:
        errors.append(too_many(where, len(seen), _SELECTABLE_LIMIT))
    return errors


def _schema_at(schema: Json, path: str) -> Json | None:
    found: Json | None = schema
    for name in path.removeprefix(".").split("."):
        found = ((found or {}).get("properties") or {}).get(name)
    return found


def _name_errors(names: Json) -> list[FieldError]:
    errors: list[FieldError] = []
    for key in ("plural", "singular"):
        value = names.get(key, "")
        if value and (found := label_1035_faults(value)):
            errors.append(invalid(f"spec.names.{key}", value, ",".join(found)))
    for key in ("kind", "listKind"):
        value = names.get(key, "")
        if value and (found := label_1035_faults(value.lower())):
            text = f"may have mixed case, but should otherwise match: {','.join(found)}"
            errors.append(invalid(f"spec.names.{key}", value, text))
    for key in ("shortNames", "categories"):
        for index, value in enumerate(names.get(key, ())):
            if found := label_1035_faults(value):
                errors.append(invalid(f"spec.names.{key}[{index}]", value, ",".join(found)))
    if names.get("kind") and names.get("kind") == names.get("listKind"):
        errors.append(invalid("spec.names.listKind", names["listKind"], "kind and listKind may not be the same"))
    return errors


def _update_errors(spec: Json, old: Json) -> list[FieldError]:
    errors = changed("spec.scope", spec.get("scope"), old.get("scope"))
    errors += changed("spec.names.kind", spec["names"].get("kind"), old["names"].get("kind"))
    errors += changed("spec.group", spec.get("group"), old.get("group"))
    return errors + changed("spec.names.plural", spec["names"].get("plural"), old["names"].get("plural"))


def _approval_errors(crd: Json) -> list[FieldError]:
    group = crd["spec"].get("group", "")
    if not f".{group}".endswith((".k8s.io", ".kubernetes.io")):
        return []
    value = annotations_of(crd).get(_APPROVAL, "")
    if value.startswith(("https://", "http://", "unapproved")):
        return []
    reason = (
        f'protected groups must have approval annotation "{_APPROVAL}", see https://github.com/kubernetes/enhancements/pull/1111'
    )
    field = f"metadata.annotations[{_APPROVAL}]"
    return [required(field, reason)] if not value else [forbidden(field, reason)]
