"""What Kubernetes takes as a name, a label, a key: each function returns the faults of a text in apimachinery's words.

Source: k8s.io/apimachinery 1.36 `util/validation` and `api/validate/content`.
"""

from __future__ import annotations

import re

from shunter.api.late_patterns import late_pattern

_LABEL_1123 = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN_1123 = _LABEL_1123 + r"(\." + _LABEL_1123 + ")*"
_WILDCARD_1123 = r"\*\." + _SUBDOMAIN_1123
_LABEL_1035 = "[a-z]([-a-z0-9]*[a-z0-9])?"
_KEY_NAME = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL_VALUE = f"({_KEY_NAME})?"
_CONFIG_KEY = "[-._a-zA-Z0-9]+"
_HEADER_NAME = "[-A-Za-z0-9]+"
_PORT_NAME = late_pattern(r"[-a-z0-9]+", re.ASCII)
_PATH = "[a-z0-9]+((\\.|_|__|-+)[a-z0-9]+)*"
_HTTP_PATH = "[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+"
_IMAGE = late_pattern(
    r"(([a-zA-Z0-9]([-.a-zA-Z0-9]*[a-zA-Z0-9])?|\[[0-9a-fA-F:]+\])(:[0-9]+)?/)?"
    rf"{_PATH}(/{_PATH})*(:\w[\w.-]{{0,127}})?(@[A-Za-z][A-Za-z0-9]*([-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{{32,}})?",
    re.ASCII,
)
_ENVIRONMENT_NAME = late_pattern("[ -<>-~]*")
_COMPILED = {
    text: late_pattern(text, re.ASCII)
    for text in (_LABEL_1123, _SUBDOMAIN_1123, _WILDCARD_1123, _LABEL_1035, _KEY_NAME, _LABEL_VALUE, _CONFIG_KEY, _HEADER_NAME)
}

_SUBDOMAIN_SHAPE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
    "and must start and end with an alphanumeric character"
)
_WILDCARD_SHAPE = (
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case "
    "alphanumeric characters, '-' or '.' and end with an alphanumeric character"
)
_LABEL_SHAPE = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
    "and must start and end with an alphanumeric character"
)
_LABEL_1035_SHAPE = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', "
    "start with an alphabetic character, and end with an alphanumeric character"
)
_KEY_SHAPE = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"

RANDOM_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
"""What names that Kubernetes makes up are written in: no vowels, so that they are no words."""
LONGEST_LABEL = 63
"""Bytes of a DNS label, and of the value of a label."""


def subdomain_faults(text: str) -> list[str]:
    """DNS subdomain of RFC 1123, at most 253 bytes: what most objects' names are."""
    faults = _length_faults(text, 253)
    if not _fits(_SUBDOMAIN_1123, text):
        faults.append(_shape_fault(_SUBDOMAIN_SHAPE, _SUBDOMAIN_1123, "example.com"))
    return faults


def prefixed_path_faults(text: str) -> list[tuple[str, str]]:
    """A domain-prefixed path such as `acme.io/foo` (`IsDomainPrefixedPath`): what is at fault, the text or one of its two parts,
    and why."""
    host, _, path = text.partition("/")
    if not host or not path:
        return [(text, 'must be a domain-prefixed path (such as "acme.io/foo")')]
    found = [(host, fault) for fault in subdomain_faults(host)]
    if not re.fullmatch(_HTTP_PATH, path):
        found.append((path, f"Invalid path (regex used for validation is '{_HTTP_PATH}')"))
    return found


def label_faults(text: str) -> list[str]:
    """DNS label of RFC 1123, at most 63 bytes: namespaces, containers, volumes."""
    faults = _length_faults(text, LONGEST_LABEL)
    if not _fits(_LABEL_1123, text):
        if _fits(_SUBDOMAIN_1123, text):
            faults.append("must not contain dots")
        else:
            faults.append(_shape_fault(_LABEL_SHAPE, _LABEL_1123, "my-name", "123-abc"))
    return faults


def label_1035_faults(text: str) -> list[str]:
    """DNS label of RFC 1035, which starts with a letter."""
    faults = _length_faults(text, LONGEST_LABEL)
    if not _fits(_LABEL_1035, text):
        faults.append(_shape_fault(_LABEL_1035_SHAPE, _LABEL_1035, "my-name", "abc-123"))
    return faults


def wildcard_faults(text: str) -> list[str]:
    """A DNS subdomain after `*.`, which stands for one label: hosts of Ingresses."""
    faults = _length_faults(text, 253)
    if not _fits(_WILDCARD_1123, text):
        faults.append(_shape_fault(_WILDCARD_SHAPE, _WILDCARD_1123, "*.example.com"))
    return faults


def path_segment_faults(text: str) -> list[str]:
    """Anything that can stand in a URL path: names of RBAC objects."""
    if text in (".", ".."):
        return [f"may not be '{text}'"]
    return [f"may not contain '{part}'" for part in "/%" if part in text]


def label_key_faults(text: str) -> list[str]:
    """A qualified name, `name` or `prefix/name`: keys of labels and annotations, finalizers, resource names."""
    prefix, slash, name = text.rpartition("/")
    if "/" in prefix:
        shape = _shape_fault(f"a valid label key {_KEY_SHAPE}", _KEY_NAME, "MyName", "my.name", "123-abc")
        return [f"{shape} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"]
    faults = []
    if slash:
        found = [fault.replace("characters", "bytes") if "more than" in fault else fault for fault in subdomain_faults(prefix)]
        faults += [f"prefix part {fault}" for fault in found] if prefix else ["prefix part must be non-empty"]
    if not name:
        faults.append("name part must be non-empty")
    faults += [f"name part {fault}" for fault in _length_faults(name, LONGEST_LABEL, "bytes")]
    if not _fits(_KEY_NAME, name):
        faults.append(f"name part {_shape_fault(_KEY_SHAPE, _KEY_NAME, 'MyName', 'my.name', '123-abc')}")
    return faults


def label_value_faults(text: str) -> list[str]:
    """The value of a label, at most 63 bytes, possibly empty."""
    faults = _length_faults(text, LONGEST_LABEL, "bytes")
    if not _fits(_LABEL_VALUE, text):
        faults.append(
            _shape_fault(
                f"a valid label must be an empty string or {_KEY_SHAPE.removeprefix('must ')}",
                _LABEL_VALUE,
                "MyValue",
                "my_value",
                "12345",
            )
        )
    return faults


def config_key_faults(text: str) -> list[str]:
    """A key of a ConfigMap or Secret: it becomes a file name."""
    faults = _length_faults(text, 253)
    if not _fits(_CONFIG_KEY, text):
        faults.append(
            _shape_fault(
                "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
                _CONFIG_KEY,
                "key.name",
                "KEY_NAME",
                "key-name",
            )
        )
    if text in (".", ".."):
        faults.append(f"must not be '{text}'")
    elif text.startswith(".."):
        faults.append("must not start with '..'")
    return faults


def port_name_faults(text: str) -> list[str]:
    """A port's name (IANA service name), at most 15 bytes."""
    faults = _length_faults(text, 15)
    if not _PORT_NAME.fullmatch(text):
        faults.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not any("a" <= char <= "z" for char in text):
        faults.append("must contain at least one letter (a-z)")
    if "--" in text:
        faults.append("must not contain consecutive hyphens")
    if text.startswith("-") or text.endswith("-"):
        faults.append("must not begin or end with a hyphen")
    return faults


def environment_name_faults(text: str) -> list[str]:
    """The name of an environment variable: printable ASCII without `=`."""
    faults = [] if text else ["environment variable name must be non-empty"]
    if not _ENVIRONMENT_NAME.fullmatch(text):
        faults.append("a valid environment variable name must consist only of printable ASCII characters other than '='")
    return faults


def header_name_faults(text: str) -> list[str]:
    """The name of an HTTP header, as probes send it."""
    if _fits(_HEADER_NAME, text):
        return []
    return [_shape_fault("a valid HTTP header must consist of alphanumeric characters or '-'", _HEADER_NAME, "X-Header-Name")]


def image_faults(text: str) -> list[str]:
    """The name of an image: [HOST[:PORT]/]PATH[:TAG][@DIGEST], as the grammar of github.com/distribution/reference has it."""
    if _IMAGE.fullmatch(text):
        return []
    return ["an image is named like team/train:1 or registry.example.com/team/train:1, its path in lower case"]


def port_faults(number: int) -> list[str]:
    """A port number that is not 0."""
    return [] if 1 <= number <= 65535 else ["must be between 1 and 65535, inclusive"]


def _fits(pattern: str, text: str) -> bool:
    return _COMPILED[pattern].fullmatch(text) is not None


def _length_faults(text: str, limit: int, unit: str = "characters") -> list[str]:
    """apimachinery counts bytes but says so only of labels."""
    return [f"must be no more than {limit} {unit}"] if len(text.encode()) > limit else []


def _shape_fault(sentence: str, pattern: str, *examples: str) -> str:
    shown = " or ".join(f"'{example}', " for example in examples)
    return f"{sentence} (e.g. {shown}regex used for validation is '{pattern}')"
