"""The rules every object's metadata obeys, whatever its kind.

Source: k8s.io/apimachinery `api/validation` and `meta/v1/validation`; k8s.io/apiserver `registry/rest`. Texts are theirs.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from shunter.api.field_errors import FieldError, forbidden, invalid, required, too_long
from shunter.api.formats.go_values import go_quoted
from shunter.api.meta import Json
from shunter.api.names import RANDOM_LETTERS, label_key_faults
from shunter.cluster.apiserver.field_rules import annotation_errors, faults, label_errors
from shunter.cluster.apiserver.status import StatusError, bad_request

ORPHAN = "orphan"
FOREGROUND = "foregroundDeletion"
_ANNOTATIONS_LIMIT = 256 * 1024
_GENERATED_BASE = 58

_UUID_4 = 0x4000_8000_0000_0000_0000
_UUID_RANDOM = (1 << 128) - 1 & ~0xF000_C000_0000_0000_0000
_random = random.Random()


def generated_name(base: str) -> str:
    """`base` and five random characters, cut to fit a label; source: apiserver `storage/names`."""
    return base[:_GENERATED_BASE] + "".join(_random.choices(RANDOM_LETTERS, k=5))


def new_uid() -> str:
    """A fresh uid, a random UUID (version 4). Not a secret, so it does not cost a system call."""
    digits = f"{_random.getrandbits(128) & _UUID_RANDOM | _UUID_4:032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def in_namespace(metadata: Json, namespace: str) -> None:
    """Sets the request's namespace, or refuses another one. Raises 400."""
    given = metadata.get("namespace", "")
    if given and namespace and given != namespace:
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
    if namespace:
        metadata["namespace"] = namespace


def sent_name(document: Json) -> str:
    """The name in an object that nobody has decoded yet, whose metadata may be anything."""
    metadata = document.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else ""
    return name if isinstance(name, str) else ""


def creation_errors(metadata: Json, *, namespaced: bool, name_faults: Callable[[str], list[str]]) -> list[FieldError]:
    """What `ValidateObjectMeta` finds on creation; `name_faults` are the kind's own rules for names."""
    errors: list[FieldError] = []
    name, base = metadata.get("name", ""), metadata.get("generateName", "")
    if base:
        errors += faults("metadata.generateName", base, name_faults(_masked(base)))
    if not name:
        errors.append(required("metadata.name", "name or generateName is required"))
    else:
        errors += faults("metadata.name", name, name_faults(name))
    if (generation := metadata.get("generation", 0)) < 0:
        errors.append(invalid("metadata.generation", generation, "must be greater than or equal to 0"))
    return errors + _common_errors(metadata, namespaced=namespaced)


def _masked(base: str) -> str:
    """The start of a generated name may end in a dash, as more characters follow."""
    return base[:-2] + "a" if len(base) > 1 and base.endswith("-") else base


def update_errors(metadata: Json, old: Json, *, namespaced: bool) -> list[FieldError]:
    """What `ValidateObjectMetaUpdate` finds."""
    errors = _common_errors(metadata, namespaced=namespaced)
    if old.get("deletionTimestamp"):
        new = sorted(set(metadata.get("finalizers", ())) - set(old.get("finalizers", ())))
        if new:
            listed = ", ".join(map(go_quoted, new))
            errors.append(
                forbidden(
                    "metadata.finalizers",
                    f"no new finalizers can be added if the object is being deleted, found new finalizers []string{{{listed}}}",
                )
            )
    for name in ("name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"):
        if metadata.get(name) != old.get(name):
            errors.append(invalid(f"metadata.{name}", metadata.get(name), "field is immutable"))
    return errors


def _common_errors(metadata: Json, *, namespaced: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    if namespaced and not metadata.get("namespace"):
        errors.append(required("metadata.namespace"))
    if not namespaced and metadata.get("namespace"):
        errors.append(forbidden("metadata.namespace", "not allowed on this type"))
    annotations = metadata.get("annotations", {})
    errors += label_errors(metadata.get("labels", {}), "metadata.labels")
    errors += annotation_errors(annotations, "metadata.annotations")
    if sum(len(key) + len(value) for key, value in annotations.items()) > _ANNOTATIONS_LIMIT:
        errors.append(too_long("metadata.annotations", _ANNOTATIONS_LIMIT))
    errors += _owner_errors(metadata.get("ownerReferences", []))
    finalizers = metadata.get("finalizers", [])
    for finalizer in finalizers:
        errors += faults("metadata.finalizers", finalizer, label_key_faults(finalizer))
    if ORPHAN in finalizers and FOREGROUND in finalizers:
        errors.append(invalid("metadata.finalizers", finalizers, f"finalizer {ORPHAN} and {FOREGROUND} cannot be both set"))
    return errors


_STANDARD_FINALIZERS = ("kubernetes", ORPHAN, FOREGROUND)


def builtin_finalizer_errors(metadata: Json) -> list[FieldError]:
    """What Kubernetes' own kinds ask of finalizers beside that: a standard name, or one with a domain."""
    return [
        invalid(f"metadata.finalizers[{index}]", name, "name is neither a standard finalizer name nor is it fully qualified")
        for index, name in enumerate(metadata.get("finalizers", ()))
        if "/" not in name and name not in _STANDARD_FINALIZERS
    ]


def _owner_errors(owners: list[Json]) -> list[FieldError]:
    errors: list[FieldError] = []
    controller = ""
    where = "metadata.ownerReferences"
    for owner in owners:
        version, kind = owner.get("apiVersion", ""), owner.get("kind", "")
        if not version.rpartition("/")[2] or version.count("/") > 1:
            errors.append(invalid(f"{where}.apiVersion", version, "version must not be empty"))
        for name, value in (("kind", kind), ("name", owner.get("name", "")), ("uid", owner.get("uid", ""))):
            if not value:
                errors.append(invalid(f"{where}.{name}", value, "must not be empty"))
        if (version, kind) == ("v1", "Event"):
            errors.append(invalid(where, owner, "/v1, Kind=Event is disallowed from being an owner"))
        if owner.get("controller"):
            this = f"{kind}/{owner.get('name', '')}"
            if controller:
                errors.append(
                    invalid(
                        where,
                        owners,
                        "Only one reference can have Controller set to true. "
                        f'Found "true" in references for {controller} and {this}',
                    )
                )
            controller = controller or this
    return errors


def without_duplicate_owners(metadata: Json) -> list[str]:
    """Drops repeated owner references, in place; returns the uids that stood there again."""
    owners = metadata.get("ownerReferences")
    if not owners or len(owners) == 1:
        return []
    kept: list[Json] = []
    repeated = []
    for owner in owners:
        if owner in kept:
            repeated.append(str(owner.get("uid", "")))
        else:
            kept.append(owner)
    metadata["ownerReferences"] = kept
    return repeated


def name_on_url(metadata: Json, name: str) -> StatusError | None:
    """The refusal of an object whose name is not the URL's."""
    given = metadata.get("name", "")
    if given == name:
        return None
    if not given:
        return bad_request(f"the name of the object ({name} based on URL) was undeterminable: name must be provided")
    return bad_request(f"the name of the object ({given}) does not match the name on the URL ({name})")


def check_identity(metadata: Json, name: str, namespace: str) -> None:
    """The name must be the URL's; sets the namespace, or refuses another one. Raises 400."""
    if refusal := name_on_url(metadata, name):
        raise refusal
    in_namespace(metadata, namespace)
