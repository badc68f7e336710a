"""Kubernetes' own functions in expressions: lists, texts, quantities, addresses, URLs, versions and formats.

The library passes plain values only, so a value of one of Kubernetes' types is a map with one entry, TYPE: canonical text; two
are equal where their texts are. Times come with microseconds, so the least and the largest of a list has no more.
Source: k8s.io/apiserver 1.36 `cel/library`, whose error texts these are.
"""

from __future__ import annotations

import functools
import ipaddress
import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any
from urllib.parse import parse_qs, urlsplit

from shunter.api.formats import quantity
from shunter.api.meta import Json
from shunter.api.names import label_1035_faults, label_faults, label_key_faults, label_value_faults, subdomain_faults
from shunter.cluster.apiserver.schema import cel_authorizer
from shunter.cluster.apiserver.schema.cel_times import milliseconds, passed
from shunter.cluster.apiserver.schema.formats import FORMATS, go_pattern

_QUANTITY = "kubernetes.Quantity"
_ADDRESS = "net.IP"
_NETWORK = "net.CIDR"
_URL = "kubernetes.URL"
_VERSION = "kubernetes.Semver"
_FORMAT = "kubernetes.NamedFormat"
_OPTIONAL = "optional"
MILLISECONDS = "kubernetesMilliseconds"
"""Stands for `getMilliseconds`."""
_BILLION = 10**9

_SEMVER = re.compile(
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-((?:0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*)"
    r"(?:\.(?:0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*))*))?(?:\+([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?",
    re.ASCII,
)
_ESCAPED = re.compile(r"[^A-Za-z0-9\-._~!$&'()*+,;=:@/%]")

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_Network = ipaddress.IPv4Interface | ipaddress.IPv6Interface


def declarations(cel: Any) -> list[Any]:
    """All of them, for an environment of the library `cel`."""
    kinds = cel.Type
    text, anything, boolean, number = kinds.STRING, kinds.DYN, kinds.BOOL, kinds.INT
    items, texts, own = kinds.List(anything), kinds.List(text), kinds.MAP
    declared: dict[str, list[Any]] = {}

    def add(name: str, result: Any, parameters: list[Any], function: Callable[..., Any], *, is_member: bool) -> None:
        overloads = declared.setdefault(name, [])
        identity = f"kubernetes_{name.replace('.', '_')}_{len(overloads)}"
        overloads.append(cel.Overload(id=identity, return_type=result, parameters=parameters, is_member=is_member, impl=function))

    def member(name: str, result: Any, parameters: list[Any], function: Callable[..., Any]) -> None:
        add(name, result, parameters, function, is_member=True)

    def plain(name: str, result: Any, parameters: list[Any], function: Callable[..., Any]) -> None:
        add(name, result, parameters, function, is_member=False)

    member("sum", anything, [items], _total)
    member("min", anything, [items], lambda values: passed(min(values)))
    member("max", anything, [items], lambda values: passed(max(values)))
    member(MILLISECONDS, number, [anything], milliseconds)
    member(MILLISECONDS, number, [anything, text], milliseconds)
    member("isSorted", boolean, [items], lambda values: list(values) == sorted(values))
    member("indexOf", number, [items, anything], lambda values, value: _index([*values], value))
    member("lastIndexOf", number, [items, anything], _last_index)
    member("find", text, [text, text], _find)
    member("findAll", texts, [text, text], lambda value, pattern: _find_all(value, pattern, -1))
    member("findAll", texts, [text, text, number], _find_all)

    plain("isQuantity", boolean, [text], lambda value: _parses(quantity.parse, value))
    plain("quantity", anything, [text], _quantity)
    member("isInteger", boolean, [anything], lambda value: _amount(value).denominator == 1)
    member("asInteger", number, [anything], _whole)
    member("asApproximateFloat", kinds.DOUBLE, [anything], lambda value: float(_amount(value)))
    member("add", anything, [anything, anything], lambda value, other: _sum(value, other, 1))
    member("sub", anything, [anything, anything], lambda value, other: _sum(value, other, -1))
    member("compareTo", number, [anything, anything], _compared)
    member("isLessThan", boolean, [anything, anything], lambda value, other: _compared(value, other) < 0)
    member("isGreaterThan", boolean, [anything, anything], lambda value, other: _compared(value, other) > 0)

    plain("isSemver", boolean, [text], lambda value: _parses(_semver, value))
    plain("isSemver", boolean, [text, boolean], lambda value, lenient: _parses(lambda one: _semver(one, lenient), value))
    plain("semver", anything, [text], _semver)
    plain("semver", anything, [text, boolean], _semver)
    for place, name in enumerate(("major", "minor", "patch")):
        member(name, number, [anything], functools.partial(_part, place))

    plain("isIP", boolean, [text], lambda value: _parses(_address, value))
    plain("ip", anything, [text], lambda value: {_ADDRESS: str(_address(value))})
    plain("ip.isCanonical", boolean, [text], lambda value: str(_address(value)) == value)
    member("family", number, [anything], lambda value: _ip(value).version)
    member("isUnspecified", boolean, [anything], lambda value: _ip(value).is_unspecified)
    member("isLoopback", boolean, [anything], lambda value: _ip(value).is_loopback)
    member("isLinkLocalMulticast", boolean, [anything], lambda value: _is_link_local_multicast(_ip(value)))
    member("isLinkLocalUnicast", boolean, [anything], lambda value: _ip(value).is_link_local)
    member("isGlobalUnicast", boolean, [anything], lambda value: _is_global_unicast(_ip(value)))

    plain("isCIDR", boolean, [text], lambda value: _parses(_network, value))
    plain("cidr", anything, [text], lambda value: {_NETWORK: str(_network(value))})
    member("containsIP", boolean, [anything, anything], lambda value, other: _contains_address(_cidr(value), other))
    member("containsCIDR", boolean, [anything, anything], lambda value, other: _contains_network(_cidr(value), other))
    member("ip", anything, [anything], lambda value: {_ADDRESS: str(_cidr(value).ip)})
    member("masked", anything, [anything], lambda value: {_NETWORK: str(_cidr(value).network)})
    member("prefixLength", number, [anything], lambda value: _cidr(value).network.prefixlen)
    plain("string", text, [own], _shown)

    plain("jsonpatch.escapeKey", text, [text], lambda value: value.replace("~", "~0").replace("/", "~1"))
    plain("isURL", boolean, [text], FORMATS["uri"])
    plain("url", anything, [text], _url)
    for name, part in _URL_PARTS.items():
        member(name, anything, [anything], functools.partial(_url_part, part))

    plain("format.named", anything, [text], _format_named)
    for name in _NAMED_FORMATS:
        plain(f"format.{name}", anything, [], functools.partial(_named, name))
    member("validate", anything, [anything, text], _validated)
    member("hasValue", boolean, [own], lambda value: bool(_member(value, _OPTIONAL)))
    member("value", anything, [own], _optional_value)
    member("orValue", anything, [own, anything], lambda value, other: next(iter(_member(value, _OPTIONAL)), other))
    cel_authorizer.declare(member, kinds)
    return [cel.FunctionDecl(name, overloads) for name, overloads in declared.items()]


def optional(*value: Any) -> Json:
    """An optional value, or none."""
    return {_OPTIONAL: [*value]}


def _member(value: Any, kind: str) -> Any:
    """What a value of this type holds. Raises ValueError for one of another type."""
    if not isinstance(value, Mapping) or kind not in value:
        raise ValueError("no such overload")
    return value[kind]


def _parses(parser: Callable[[str], Any], value: str) -> bool:
    try:
        parser(value)
    except ValueError:
        return False
    return True


def _total(values: Any) -> Any:
    numbers = [*values]
    return passed(sum(numbers[1:], numbers[0])) if numbers else 0


def _index(values: list[Any], value: Any) -> int:
    return values.index(value) if value in values else -1


def _last_index(values: Any, value: Any) -> int:
    backwards = [*values][::-1]
    place = _index(backwards, value)
    return len(backwards) - 1 - place if place >= 0 else -1


def _find(value: str, pattern: str) -> str:
    found = go_pattern(pattern).search(value)
    return found[0] if found else ""


def _find_all(value: str, pattern: str, most: int) -> list[str]:
    found = [match[0] for match in go_pattern(pattern).finditer(value)]
    return found if most < 0 else found[:most]


def _quantity(value: str) -> Json:
    return _of_amount(quantity.parse(value))


def _of_amount(amount: Fraction) -> Json:
    """Always in decimal units, as `1Ki` and `1024` are equal."""
    return {_QUANTITY: quantity.canonical(f"{int(amount * _BILLION)}n")}


def _amount(value: Any) -> Fraction:
    return quantity.parse(_member(value, _QUANTITY))


def _whole(value: Any) -> int:
    amount = _amount(value)
    if amount.denominator != 1:
        raise ValueError("cannot convert value to integer")
    return int(amount)


def _sum(value: Any, other: Any, sign: int) -> Json:
    """The sum of two quantities, or of one and a whole number."""
    return _of_amount(_amount(value) + sign * (other if isinstance(other, int) else _amount(other)))


def _compared(value: Any, other: Any) -> int:
    """How two quantities or versions compare: -1, 0 or 1."""
    one: Any
    two: Any
    if isinstance(value, Mapping) and _VERSION in value:
        one, two = _precedence(_member(value, _VERSION)), _precedence(_member(other, _VERSION))
    else:
        one, two = _amount(value), _amount(other)
    return int(one > two) - int(one < two)


def _semver(value: str, lenient: bool = False) -> Json:
    """A version of three numbers; a lenient one may have a `v` before it, leading zeros and fewer numbers."""
    if lenient:
        numbers, mark, rest = re.fullmatch(r"v?([0-9.]*)([-+]?)(.*)", value, re.ASCII | re.DOTALL).groups()  # type: ignore[union-attr]
        parts = [str(int(part)) if part else part for part in numbers.split(".")]
        value = ".".join(parts + ["0"] * (3 - len(parts))) + mark + rest
    if _SEMVER.fullmatch(value) is None:
        raise ValueError("No Major.Minor.Patch elements found" if value.count(".") < 2 else f"Invalid version {value}")
    return {_VERSION: value}


def _precedence(version: str) -> Any:
    """What versions are ordered by: a number counts as one and goes before words, what goes before a release before it."""
    found = _SEMVER.fullmatch(version)
    assert found is not None
    before = found[4]
    words = [(0, int(one), "") if one.isdigit() else (1, 0, one) for one in before.split(".")] if before else []
    return int(found[1]), int(found[2]), int(found[3]), not before, words


def _part(place: int, version: Any) -> int:
    found = _SEMVER.fullmatch(_member(version, _VERSION))
    assert found is not None
    number: str = found[place + 1]
    return int(number)


def _address(value: str) -> _Address:
    if "%" in value:
        raise ValueError(f'IP Address "{value}" parse error during conversion from string: zones are not allowed')
    try:
        address = ipaddress.ip_address(value)
    except ValueError:
        raise ValueError(f'IP Address "{value}" parse error during conversion from string') from None
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        raise ValueError("IPv4-mapped IPv6 address is not allowed")
    return address


def _ip(value: Any) -> _Address:
    return ipaddress.ip_address(_member(value, _ADDRESS))


def _is_link_local_multicast(address: _Address) -> bool:
    return address in _LINK_LOCAL_MULTICAST[address.version]


_LINK_LOCAL_MULTICAST: Mapping[int, Any] = {4: ipaddress.ip_network("224.0.0.0/24"), 6: ipaddress.ip_network("ff02::/16")}


def _is_global_unicast(address: _Address) -> bool:
    """Go's: private addresses count too."""
    is_broadcast = address == ipaddress.ip_address("255.255.255.255")
    return not (is_broadcast or address.is_unspecified or address.is_loopback or address.is_multicast or address.is_link_local)


def _network(value: str) -> _Network:
    if not FORMATS["cidr"](value):
        raise ValueError(f'CIDR "{value}" parse error during conversion from string')
    return ipaddress.ip_interface(value)


def _cidr(value: Any) -> _Network:
    return ipaddress.ip_interface(_member(value, _NETWORK))


def _contains_address(network: _Network, other: Any) -> bool:
    return (_address(other) if isinstance(other, str) else _ip(other)) in network.network


def _contains_network(network: _Network, other: Any) -> bool:
    inner = (_network(other) if isinstance(other, str) else _cidr(other)).network
    outer = network.network
    return inner.version == outer.version and inner.prefixlen >= outer.prefixlen and inner.network_address in outer


def _shown(value: Any) -> str:
    for kind in (_ADDRESS, _NETWORK):
        if kind in value:
            return str(value[kind])
    raise ValueError("no such overload")


def _url(value: str) -> Json:
    if not FORMATS["uri"](value):
        raise ValueError(f'URL parse error during conversion from string: parse "{value}": invalid URI for request')
    return {_URL: value}


def _host(parts: Any) -> str:
    return str(parts.netloc.rpartition("@")[2])


def _port(parts: Any) -> str:
    return str(_host(parts).rpartition("]")[2].partition(":")[2])


def _hostname(parts: Any) -> str:
    host = _host(parts)
    return host[1 : host.index("]")] if host.startswith("[") else host.partition(":")[0]


def _path(parts: Any) -> str:
    return _ESCAPED.sub(lambda match: "".join(f"%{byte:02X}" for byte in match[0].encode()), parts.path)


_URL_PARTS: Mapping[str, Callable[[Any], Any]] = {
    "getScheme": lambda parts: parts.scheme,
    "getHost": _host,
    "getHostname": _hostname,
    "getPort": _port,
    "getEscapedPath": _path,
    "getQuery": lambda parts: parse_qs(parts.query, keep_blank_values=True),
}


def _url_part(part: Callable[[Any], Any], value: Any) -> Any:
    return part(urlsplit(_member(value, _URL)))


def _prefix(faults: Callable[[str], list[str]]) -> Callable[[str], list[str]]:
    """The errors of a name's prefix, which may end in a dash."""
    return lambda value: faults(value[:-1] + "a" if value.endswith("-") else value)


def _formatted(name: str, fault: str) -> Callable[[str], list[str]]:
    return lambda value: [] if FORMATS[name](value) else [fault]


_NAMED_FORMATS: Mapping[str, Callable[[str], list[str]]] = {
    "dns1123Label": label_faults,
    "dns1123Subdomain": subdomain_faults,
    "dns1035Label": label_1035_faults,
    "qualifiedName": label_key_faults,
    "dns1123LabelPrefix": _prefix(label_faults),
    "dns1123SubdomainPrefix": _prefix(subdomain_faults),
    "dns1035LabelPrefix": _prefix(label_1035_faults),
    "labelValue": label_value_faults,
    "uri": _formatted("uri", "invalid URI for request"),
    "uuid": _formatted("uuid", "does not match the UUID format"),
    "byte": _formatted("byte", "invalid base64"),
    "date": _formatted("date", "invalid date"),
    "datetime": _formatted("datetime", "invalid datetime"),
}


def _format_named(name: str) -> Json:
    return optional(_named(name)) if name in _NAMED_FORMATS else optional()


def _named(name: str) -> Json:
    return {_FORMAT: name}


def _validated(value: Any, text: str) -> Json:
    """Optionally, what is wrong with a text."""
    faults = _NAMED_FORMATS[_member(value, _FORMAT)](text)
    return optional(faults) if faults else optional()


def _optional_value(value: Any) -> Any:
    held = _member(value, _OPTIONAL)
    if not held:
        raise ValueError("optional.none() dereference")
    return held[0]
