"""Whether plain JSON has the shape that code relies on, and if not, at which field, and what was expected there.

Most of what users write passes through as JSON. Schemas see to its types, but a CRD may have been changed under the
objects, an object may be asked about before the schema is, and a snapshot may have been edited.
"""

from __future__ import annotations

import re
from typing import Any, TypeVar

import msgspec

from shunter.api.formats.quantity import parse
from shunter.api.late_patterns import late_pattern
from shunter.api.meta import Json, Struct

Shape = TypeVar("Shape")

_ERROR = late_pattern(r"(?P<text>.*?)(?: - at `\$\.?(?P<place>[^`]*)`)?", re.DOTALL)
_EXPECTED = late_pattern(r"Expected `(?P<wanted>[^`]*)`, got `(?P<got>[^`]*)`")
_WORDS = {
    "array": "a list",
    "bool": "a boolean",
    "float": "a number",
    "int": "an integer",
    "null": "null",
    "object": "an object",
    "str": "a string",
}


class ShapeError(Exception):
    """`field` is the path below the value, empty for the value itself; `text` says what is there and what was expected."""

    def __init__(self, field: str, text: str) -> None:
        super().__init__(f"{field}: {text}" if field else text)
        self.field = field
        self.text = text


def shaped(value: Any, shape: type[Shape]) -> Shape:
    """The value read as `shape`. Raises ShapeError for the first part of it that does not fit."""
    try:
        return msgspec.convert(value, shape)
    except msgspec.ValidationError as error:
        raise as_shape_error(error) from error
    except RecursionError as error:
        raise ShapeError("", "nested too deeply") from error


def shaped_if_possible(value: Any, shape: type[Shape]) -> Shape | None:
    """The value read as `shape`; None when it is none, as an object may be that was stored past admission."""
    try:
        return shaped(value, shape)
    except ShapeError:
        return None


def as_shape_error(error: msgspec.ValidationError) -> ShapeError:
    """What msgspec says, in JSON's words."""
    found = _ERROR.fullmatch(str(error))
    assert found, "every text matches"
    text = found["text"]
    if types := _EXPECTED.fullmatch(text):
        wanted = [_WORDS.get(one, one) for one in types["wanted"].split(" | ") if one != "null"]
        text = f"must be {' or '.join(wanted)}, not {_WORDS.get(types['got'], types['got'])}"
    else:
        text = f"{text[:1].lower()}{text[1:]}"
    return ShapeError(found["place"] or "", text)


class Variable(Struct, frozen=True):
    """`value_from` is where the value is taken from: a field of the pod, a ConfigMap, a Secret. One with neither is empty."""

    name: str
    value: str | None = None
    value_from: dict[str, Json | None] | None = None


class Port(Struct, frozen=True):
    """A port that a container declares; `container_port` is None where it is missing, as only a schema refuses that."""

    container_port: int | None = None
    name: str | None = None


class Mount(Struct, frozen=True):
    """Where in a container a volume of the pod is, which `name` names."""

    mount_path: str | None = None
    name: str | None = None


class Volume(Struct, frozen=True):
    """Its name alone; of which type the volume is, is not read."""

    name: str = ""


class Resources(Struct, frozen=True):
    """Amounts as they are written, as text or as a number; `check_quantities` says whether they are quantities."""

    limits: dict[str, str | int | float] | None = None
    requests: dict[str, str | int | float] | None = None


class Capabilities(Struct, frozen=True):
    """`drop` is what the container gives up; `ALL` stands for every one."""

    drop: tuple[str, ...] | None = None


class SecurityContext(Struct, frozen=True):
    """What `pod_security.restrictions` looks into."""

    capabilities: Capabilities | None = None


class Container(Struct, frozen=True):
    """Also an init container, which `restart_policy` Always makes a sidecar."""

    name: str = ""
    image: str | None = None
    command: tuple[str, ...] | None = None
    args: tuple[str, ...] | None = None
    env: tuple[Variable, ...] | None = None
    env_from: tuple[Json, ...] | None = None
    ports: tuple[Port, ...] | None = None
    volume_mounts: tuple[Mount, ...] | None = None
    resources: Resources | None = None
    restart_policy: str | None = None
    security_context: SecurityContext | None = None


class PodSpec(Struct, frozen=True):
    """`overhead` is added to what the containers ask for; `resources` are of the pod as a whole, and go before theirs."""

    containers: tuple[Container, ...] | None = None
    init_containers: tuple[Container, ...] | None = None
    volumes: tuple[Volume, ...] | None = None
    priority_class_name: str | None = None
    scheduler_name: str | None = None
    restart_policy: str | None = None
    service_account_name: str | None = None
    overhead: dict[str, str | int | float] | None = None
    resources: Resources | None = None


class TemplateMetadata(Struct, frozen=True):
    """What objects made from a template take over of its metadata."""

    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    finalizers: tuple[str, ...] | None = None


class PodTemplate(Struct, frozen=True):
    """What the operator reads of pod templates; everything may be missing or null."""

    metadata: TemplateMetadata | None = None
    spec: PodSpec | None = None


def is_template(value: Json) -> bool:
    """Whether a pod template has the types that code relies on, be its quantities what they may."""
    return shaped_if_possible(value, PodTemplate) is not None


def template_fault(template: Json) -> ShapeError | None:
    """The first part of a pod template that is not what it should be."""
    try:
        pods = shaped(template, PodTemplate).spec or PodSpec()
        for field, containers in (("containers", pods.containers), ("initContainers", pods.init_containers)):
            for index, container in enumerate(containers or ()):
                check_quantities(container.resources, f"spec.{field}[{index}].resources")
        check_quantities(pods.resources, "spec.resources")
        check_quantities(Resources(requests=pods.overhead), "spec.overhead")
    except ShapeError as error:
        return error
    return None


def check_quantities(resources: Resources | None, field: str) -> None:
    """Raises ShapeError for the first amount that is no quantity, in Kubernetes' words."""
    for amounts in (resources.limits, resources.requests) if resources else ():
        for name, quantity in (amounts or {}).items():
            try:
                parse(quantity)
            except ValueError as error:
                raise ShapeError(f"{field}: {name}", f"{quantity!r} is no quantity: {error}") from error
