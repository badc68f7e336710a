"""Label and field selectors: parsed once per request, matched against entries.

Source: k8s.io/apimachinery `labels.Parse` and `fields.ParseSelector`; refusals in their words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from shunter.api.formats.digits import integer
from shunter.api.names import label_key_faults, label_value_faults
from shunter.api.selectors import is_beyond
from shunter.cluster.apiserver.kinds import StoredField
from shunter.cluster.apiserver.status import StatusError, bad_request
from shunter.cluster.apiserver.storage.store import Entry

Labels = Mapping[str, str]


class Requirement(NamedTuple):
    """One term of a label selector. `operator` is in, notin, exists, absent, gt or lt."""

    key: str
    operator: str
    values: frozenset[str] = frozenset()

    def matches(self, labels: Labels) -> bool:
        """`notin` also holds where the label is absent; `gt` and `lt` only where it is a whole number."""
        value = labels.get(self.key)
        match self.operator:
            case "in":
                return value in self.values
            case "notin":
                return value not in self.values
            case "exists":
                return value is not None
            case "absent":
                return value is None
            case _:
                return is_beyond(value or "", next(iter(self.values)), above=self.operator == "gt")


class Term(NamedTuple):
    """One term of a field selector."""

    path: str
    value: str
    negated: bool
    stored: StoredField | None = None
    """Where it is stored, if that is not the path."""

    def matches(self, entry: Entry) -> bool:
        """Whether the field of the entry has this value, or, negated, another one."""
        paths, absent = self.stored or StoredField((self.path,))
        return (next(filter(None, map(entry.field, paths)), absent) == self.value) is not self.negated


class Selector(NamedTuple):
    """What a LIST, WATCH or deletecollection asks for, besides the namespace."""

    requirements: tuple[Requirement, ...] = ()
    terms: tuple[Term, ...] = ()

    def matches(self, entry: Entry) -> bool:
        """Whether all terms, of fields and of labels, hold for the entry; its namespace is not looked at."""
        if not all(term.matches(entry) for term in self.terms):
            return False
        if self.requirements:
            labels = entry.labels
            return all(requirement.matches(labels) for requirement in self.requirements)
        return True

    @property
    def is_empty(self) -> bool:
        """Whether it has no terms at all, so that everything matches."""
        return not self.requirements and not self.terms


_TOKEN = re.compile(r"\s*(==|!=|[=!,()<>]|[^\s=!,()<>]+)")
_OPERATORS = ("=", "==", "!=", "!", "<", ">", "(", ")")


class _Tokens:
    def __init__(self, text: str) -> None:
        self._tokens = [match[1] for match in _TOKEN.finditer(text)]
        self._at = 0

    @property
    def next(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def take(self) -> str:
        token = self.next
        self._at += 1
        return token


def label_requirements(text: str) -> tuple[Requirement, ...]:
    """`a=b,c!=d,e in (f,g),h notin (i),j,!k,l>1` as requirements. Raises 400 with the original's words."""
    tokens = _Tokens(text)
    requirements: list[Requirement] = []
    while tokens.next:
        requirements.append(_requirement(tokens))
        if not tokens.next:
            break
        separator = tokens.take()
        if separator != ",":
            raise bad_request(f"found '{separator}', expected: ',' or 'end of string'")
        if not tokens.next:
            raise bad_request("found '', expected: identifier after ','")
    return tuple(requirements)


def _requirement(tokens: _Tokens) -> Requirement:
    if tokens.next != "!" and tokens.next in (*_OPERATORS, ","):
        raise bad_request(f"found '{tokens.next}', expected: !, identifier, or 'end of string'")
    negated = tokens.next == "!"
    if negated:
        tokens.take()
    key = tokens.take()
    if not key or key in _OPERATORS:
        raise bad_request(f"unable to parse requirement: found '{key}', expected: identifier")
    if faults := label_key_faults(key):
        raise bad_request(f'unable to parse requirement: <nil>: Invalid value: "{key}": {"; ".join(faults)}')
    if negated:
        return Requirement(key, "absent")
    if tokens.next in ("", ","):
        return Requirement(key, "exists")
    operator = tokens.take()
    if operator in ("in", "notin"):
        return Requirement(key, operator, frozenset(_values(tokens, key)))
    if operator in ("=", "==", "!="):
        value = "" if tokens.next in ("", ",") else tokens.take()
        return Requirement(key, "notin" if operator == "!=" else "in", frozenset((_checked(value, f"values[0][{key}]"),)))
    if operator in ("<", ">"):
        value = tokens.take()
        if integer(value) is None:
            fault = "for 'Gt', 'Lt' operators, the value must be an integer"
            raise bad_request(f'unable to parse requirement: values[0]: Invalid value: "{value}": {fault}')
        return Requirement(key, "gt" if operator == ">" else "lt", frozenset((value,)))
    raise bad_request(f"unable to parse requirement: found '{operator}', expected: in, notin, =, ==, !=, gt, lt")


def _values(tokens: _Tokens, key: str) -> list[str]:
    opening = tokens.take()
    if opening != "(":
        raise bad_request(f"unable to parse requirement: found '{opening}' expected: '('")
    if tokens.next not in (")", ",") and tokens.next in ("", *_OPERATORS):
        raise _unexpected(tokens.next, "',', ')' or identifier")
    values: list[str] = []
    while tokens.next != ")":
        token = tokens.take()
        if token == ",":
            if not values or tokens.next in (")", ","):
                values.append("")
            if tokens.next == ",":
                tokens.take()
                values.append("")
            continue
        if token in ("", *_OPERATORS):
            raise _unexpected(token, "',', or identifier")
        values.append(_checked(token, f"values[{len(values)}][{key}]"))
        if tokens.next not in (")", ","):
            raise _unexpected(tokens.next, "',' or ')'")
    tokens.take()
    return values or [""]


def _unexpected(found: str, expected: str) -> StatusError:
    return bad_request(f"unable to parse requirement: found '{found}', expected: {expected}")


def _checked(value: str, where: str) -> str:
    if value in _OPERATORS:
        raise bad_request(f"unable to parse requirement: found '{value}', expected: identifier")
    if found := label_value_faults(value):
        raise bad_request(f'unable to parse requirement: {where}: Invalid value: "{value}": {"; ".join(found)}')
    return value


_FIELD_TERM = re.compile(r"((?:\\.|[^\\=!,])*?)\s*(!=|==|=)((?:\\.|[^\\,])*\\?)")
_ESCAPE = re.compile(r"\\(.?)")


def field_terms(
    text: str, known: Sequence[str], *, stored: Mapping[str, StoredField] = MappingProxyType({}), unsupported: str = ""
) -> tuple[Term, ...]:
    """`metadata.name=a,spec.nodeName!=b` as terms, of the `known` fields only, some of which are stored at other paths.
    `unsupported` is the error message for other fields, with `{}` for the field."""
    terms = parsed_terms(text)
    for term in terms:
        if term.path not in known:
            if unsupported:
                raise bad_request(unsupported.format(term.path))
            names = ", ".join(f'"{name}"' for name in known)
            raise bad_request(f'"{term.path}" is not a known field selector: only {names}')
    return tuple(term._replace(stored=stored.get(term.path)) for term in terms)


def parsed_terms(text: str) -> list[Term]:
    """The terms of a selector of any fields."""
    terms: list[Term] = []
    for part in re.split(r"(?<!\\),", text):
        if not part:
            continue
        match = _FIELD_TERM.fullmatch(part)
        if match is None:
            raise bad_request(f"invalid selector: '{text}'; can't understand '{part}'")
        if re.search(r"(?<!\\)=", match[3]):
            raise bad_request(f"invalid field selector: unescaped character in value: {ord('=')}")
        for escaped in _ESCAPE.findall(match[3]):
            if escaped not in ("\\", ",", "="):
                raise bad_request(f"invalid field selector: invalid escape sequence: \\{escaped}")
        path, operator, value = match[1].strip(), match[2], _ESCAPE.sub(r"\1", match[3])
        terms.append(Term(path, value, operator == "!="))
    return terms


def exact_name(text: str) -> str:
    """The one name that a field selector asks for; nothing where it asks for none."""
    for part in re.split(r"(?<!\\),", text):
        match = _FIELD_TERM.fullmatch(part)
        if match is not None and match[1].strip() == "metadata.name" and match[2] != "!=":
            return _ESCAPE.sub(r"\1", match[3])
    return ""
