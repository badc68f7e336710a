"""The functions that expressions may call, with the types of what they take and give.

Source: cel-go 0.26 `common/stdlib`, `ext/strings.go`, `ext/lists.go`, `ext/sets.go`; k8s.io/apiserver 1.36
`cel/environment/base.go`, `cel/library`. Type parameters are single capital letters.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Final, NamedTuple

from shunter.cluster.apiserver.schema.typecheck.types import TYPE, Type

_TABLE = """
!_ (bool) bool
-_ (double) double | (int) int
@in (A, list(A)) bool | (A, map(A, B)) bool
@not_strictly_false (bool) bool
_!=_ (A, A) bool
_%_ (int, int) int | (uint, uint) uint
_&&_ (bool, bool) bool
_*_ (double, double) double | (int, int) int | (uint, uint) uint
_+_ (bytes, bytes) bytes | (double, double) double | (duration, duration) duration | (duration, timestamp) timestamp
_+_ (timestamp, duration) timestamp | (int, int) int | (list(A), list(A)) list(A) | (string, string) string | (uint, uint) uint
_-_ (double, double) double | (duration, duration) duration | (int, int) int | (timestamp, duration) timestamp
_-_ (timestamp, timestamp) duration | (uint, uint) uint
_/_ (double, double) double | (int, int) int | (uint, uint) uint
_==_ (A, A) bool
_?._ (dyn, string) optional_type(V)
_?_:_ (bool, A, A) A
_[?_] (list(V), int) optional_type(V) | (optional_type(list(V)), int) optional_type(V) | (map(K, V), K) optional_type(V)
_[?_] (optional_type(map(K, V)), K) optional_type(V)
_[_] (list(A), int) A | (map(A, B), A) B | (optional_type(list(V)), int) optional_type(V)
_[_] (optional_type(map(K, V)), K) optional_type(V)
_||_ (bool, bool) bool
add kubernetes.Quantity.(kubernetes.Quantity) kubernetes.Quantity | kubernetes.Quantity.(int) kubernetes.Quantity
allowed authorization.Decision.() bool
asApproximateFloat kubernetes.Quantity.() double
asInteger kubernetes.Quantity.() int
bool (bool) bool | (string) bool
bytes (bytes) bytes | (string) bytes
cel.@mapInsert (map(K, V), K, V) map(K, V) | (map(K, V), map(K, V)) map(K, V)
charAt string.(int) string
check authorization.PathCheck.(string) authorization.Decision | authorization.ResourceCheck.(string) authorization.Decision
cidr (string) net.CIDR
compareTo kubernetes.Quantity.(kubernetes.Quantity) int | kubernetes.Semver.(kubernetes.Semver) int
contains string.(string) bool
containsCIDR net.CIDR.(string) bool | net.CIDR.(net.CIDR) bool
containsIP net.CIDR.(string) bool | net.CIDR.(net.IP) bool
distinct list(T).() list(T)
double (double) double | (int) double | (string) double | (uint) double
duration (duration) duration | (int) duration | (string) duration
dyn (A) dyn
endsWith string.(string) bool
error authorization.Decision.() string
errored authorization.Decision.() bool
family net.IP.() int
fieldSelector authorization.ResourceCheck.(string) authorization.ResourceCheck
find string.(string) string
findAll string.(string) list(string) | string.(string, int) list(string)
first list(V).() optional_type(V)
flatten list(list(T)).() list(T) | list(dyn).(int) list(dyn)
format string.(list(dyn)) string
format.named (string) optional_type(kubernetes.NamedFormat)
getEscapedPath kubernetes.URL.() string
getHost kubernetes.URL.() string
getHostname kubernetes.URL.() string
getPort kubernetes.URL.() string
getQuery kubernetes.URL.() map(string, list(string))
getScheme kubernetes.URL.() string
group authorization.Authorizer.(string) authorization.GroupCheck
hasValue optional_type(V).() bool
indexOf list(A).(A) int | string.(string) int | string.(string, int) int
int (int) int | (double) int | (duration) int | (string) int | (timestamp) int | (uint) int
ip (string) net.IP | net.CIDR.() net.IP
ip.isCanonical (string) bool
isCIDR (string) bool
isGlobalUnicast net.IP.() bool
isGreaterThan kubernetes.Quantity.(kubernetes.Quantity) bool | kubernetes.Semver.(kubernetes.Semver) bool
isIP (string) bool
isInteger kubernetes.Quantity.() bool
isLessThan kubernetes.Quantity.(kubernetes.Quantity) bool | kubernetes.Semver.(kubernetes.Semver) bool
isLinkLocalMulticast net.IP.() bool
isLinkLocalUnicast net.IP.() bool
isLoopback net.IP.() bool
isQuantity (string) bool
isSemver (string) bool | (string, bool) bool
isURL (string) bool
isUnspecified net.IP.() bool
join list(string).() string | list(string).(string) string
labelSelector authorization.ResourceCheck.(string) authorization.ResourceCheck
jsonpatch.escapeKey (string) string
last list(V).() optional_type(V)
lastIndexOf list(A).(A) int | string.(string) int | string.(string, int) int
lists.range (int) list(int)
lowerAscii string.() string
major kubernetes.Semver.() int
masked net.CIDR.() net.CIDR
matches (string, string) bool | string.(string) bool
minor kubernetes.Semver.() int
name authorization.ResourceCheck.(string) authorization.ResourceCheck
namespace authorization.ResourceCheck.(string) authorization.ResourceCheck
optional.none () optional_type(V)
optional.of (V) optional_type(V)
optional.ofNonZeroValue (V) optional_type(V)
optional.unwrap (list(optional_type(V))) list(V)
or optional_type(V).(optional_type(V)) optional_type(V)
orValue optional_type(V).(V) V
patch kubernetes.Semver.() int
path authorization.Authorizer.(string) authorization.PathCheck
prefixLength net.CIDR.() int
quantity (string) kubernetes.Quantity
reason authorization.Decision.() string
replace string.(string, string) string | string.(string, string, int) string
resource authorization.GroupCheck.(string) authorization.ResourceCheck
reverse list(T).() list(T)
semver (string) kubernetes.Semver | (string, bool) kubernetes.Semver
serviceAccount authorization.Authorizer.(string, string) authorization.Authorizer
sets.contains (list(T), list(T)) bool
sets.equivalent (list(T), list(T)) bool
sets.intersects (list(T), list(T)) bool
sign (kubernetes.Quantity) int
size (bytes) int | bytes.() int | (list(A)) int | list(A).() int | (map(A, B)) int | map(A, B).() int | (string) int
size string.() int
slice list(T).(int, int) list(T)
split string.(string) list(string) | string.(string, int) list(string)
startsWith string.(string) bool
string (string) string | (bool) string | (bytes) string | (double) string | (duration) string | (int) string
string (timestamp) string | (uint) string | (net.IP) string | (net.CIDR) string
strings.quote (string) string
sub kubernetes.Quantity.(kubernetes.Quantity) kubernetes.Quantity | kubernetes.Quantity.(int) kubernetes.Quantity
subresource authorization.ResourceCheck.(string) authorization.ResourceCheck
substring string.(int) string | string.(int, int) string
sum list(int).() int | list(uint).() uint | list(double).() double | list(duration).() duration
timestamp (timestamp) timestamp | (int) timestamp | (string) timestamp
trim string.() string
type (A) type(A)
uint (uint) uint | (double) uint | (int) uint | (string) uint
unwrapOpt list(optional_type(V)).() list(V)
upperAscii string.() string
url (string) kubernetes.URL
validate kubernetes.NamedFormat.(string) optional_type(list(string))
value optional_type(V).() V
"""
_ORDERED = ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")
_NUMBERS = ("int", "uint", "double")
_COMPARED = ("bool", "int", "uint", "double", "string", "bytes", "timestamp", "duration")
_CALENDAR = ("Date", "DayOfMonth", "DayOfWeek", "DayOfYear", "FullYear", "Month")
_CLOCK = ("Hours", "Milliseconds", "Minutes", "Seconds")
_FORMATS = ("byte", "date", "datetime", "dns1035Label", "dns1035LabelPrefix", "dns1123Label", "dns1123LabelPrefix", "labelValue")
_MORE_FORMATS = ("dns1123Subdomain", "dns1123SubdomainPrefix", "qualifiedName", "uri", "uuid")
_SIMPLE = ("bool", "bytes", "double", "dyn", "duration", "int", "list", "map", "null", "string", "timestamp", "type", "uint")

TYPE_NAMES: Final[Mapping[str, Type]] = {
    **{name: Type("type", "", (Type(name),)) for name in ("bool", "bytes", "double", "int", "string", "uint")},
    "list": Type("type", "", (Type("list", "", (Type("param", "A"),)),)),
    "map": Type("type", "", (Type("map", "", (Type("param", "A"), Type("param", "B"))),)),
    "null_type": Type("type", "", (Type("null"),)),
    "google.protobuf.Duration": Type("type", "", (Type("duration"),)),
    "google.protobuf.Timestamp": Type("type", "", (Type("timestamp"),)),
    "type": Type("type", "", (TYPE,)),
}
"""The names of types, which are values too: `type(self) == int`."""


class Overload(NamedTuple):
    """One signature of a function; of a method, the first type is that of what it is called on."""

    is_method: bool
    takes: Sequence[Type]
    gives: Type
    parameters: Sequence[str]


@cache
def functions() -> Mapping[str, Sequence[Overload]]:
    """All functions by their names."""
    found: dict[str, list[Overload]] = {}
    for line in (*_TABLE.strip().splitlines(), *_regular()):
        name, _, signatures = line.partition(" ")
        found.setdefault(name, []).extend(_overload(signature) for signature in signatures.split(" | "))
    return found


def _regular() -> Iterator[str]:
    """What is the same for several types or names."""
    for sign in ("_<_", "_<=_", "_>_", "_>=_"):
        for kind in _COMPARED:
            for other in _NUMBERS if kind in _NUMBERS else (kind,):
                yield f"{sign} ({kind}, {other}) bool"
    for name in (*_CALENDAR, *_CLOCK):
        yield f"get{name} timestamp.() int | timestamp.(string) int"
    for name in _CLOCK:
        yield f"get{name} duration.() int"
    for kind in _ORDERED:
        yield f"min list({kind}).() {kind}"
        yield f"max list({kind}).() {kind}"
        yield f"isSorted list({kind}).() bool"
        yield f"sort list({kind}).() list({kind})"
        yield f"@sortByAssociatedKeys list(T).(list({kind})) list(T)"
    for name in (*_FORMATS, *_MORE_FORMATS):
        yield f"format.{name} () kubernetes.NamedFormat"


def _overload(signature: str) -> Overload:
    """`(A, list(A)) bool`, or of a method `string.(int) string`."""
    target, dot, rest = ("", "", signature) if signature.startswith("(") else signature.partition(".(")
    taken, gives = _until_closed(rest if dot else rest[1:])
    takes = [_type(part) for part in (*((target,) if target else ()), *_split(taken))]
    open_types = dict.fromkeys(name for one in takes for name in _open(one))
    return Overload(bool(target), takes, _type(gives.strip()), list(open_types))


def _until_closed(text: str) -> tuple[str, str]:
    """What stands before the bracket that closes, and what after it."""
    depth = 0
    for place, letter in enumerate(text):
        if letter == ")" and not depth:
            return text[:place], text[place + 1 :]
        depth += (letter == "(") - (letter == ")")
    raise AssertionError(text)


def _split(text: str) -> Iterator[str]:
    """The parts between commas that are in no brackets."""
    depth, start = 0, 0
    for place, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if letter == "," and not depth:
            yield text[start:place].strip()
            start = place + 1
    if text[start:].strip():
        yield text[start:].strip()


def _type(text: str) -> Type:
    name, bracket, rest = text.partition("(")
    parameters = tuple(_type(part) for part in _split(rest[:-1])) if bracket else ()
    if len(name) == 1:
        return Type("param", name)
    if name in _SIMPLE:
        return Type(name, "", parameters)
    name = f"kubernetes.{name}" if name.startswith("authorization.") else name
    return Type("struct" if name.startswith("kubernetes.") else "opaque", name, parameters)


def _open(one: Type) -> Iterator[str]:
    if one.kind == "param":
        yield one.name
    for part in one.parameters:
        yield from _open(part)
