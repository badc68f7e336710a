"""The port at which v1's pods meet: where programs, probes, hooks and annotations have its number or its name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from shunter.api.late_patterns import late_pattern
from shunter.api.meta import Json
from shunter.api.training.job_kind import Port
from shunter.migrate.conversion.draft import Draft, Group
from shunter.migrate.conversion.rules.programs.texts import Programs, all_programs, matches, place, quoted
from shunter.migrate.excerpts import variable_excerpt
from shunter.migrate.findings import Topic
from shunter.migrate.paths import Path, value_at
from shunter.operator.trainer.rendezvous import PORT

_MEETING_ELSEWHERE = frozenset({"torch", "jax", "xgboost"})
"""Frameworks of v2 that meet on a port of their own, whatever it was in v1."""
_ASKING: tuple[Path, ...] = tuple(
    (*place, way)
    for place in (
        ("startupProbe",),
        ("livenessProbe",),
        ("readinessProbe",),
        ("lifecycle", "postStart"),
        ("lifecycle", "preStop"),
    )
    for way in ("tcpSocket", "httpGet", "grpc")
)
"""What asks for a port of its own container."""

FIXED_PORT = Topic(
    id="HOST006",
    title="a program uses the v1 port",
    severity="warning",
    change="semantic-change",
    grade="D",
    explanation=(
        "The rendezvous port of v1 depends on the kind (23456 for PyTorch, 2222 for TensorFlow, ...); in v2 it is 29500. A "
        "program with a hard-coded port still uses it, in all pods alike. But a part of the program that reads MASTER_PORT "
        "uses 29500, a NetworkPolicy for the v1 port does not cover it, and a program or probe that waits for the v1 port waits "
        "forever. An annotation that excludes the v1 port from a service mesh does not exclude the new one."
    ),
    remedy="Use MASTER_PORT in the program, and allow 29500 in NetworkPolicies, probes and annotations.",
    explains=("none",),
    limits_proof=True,
)
DECLARED = Topic(
    id="HOST019",
    title="the port that a probe names is declared in the runtime",
    severity="info",
    change="lossless",
    grade="Q",
    explanation=(
        "v1 declared the port of the kind (pytorchjob-port, tfjob-port, ...) in the training container of each pod. A probe or "
        "hook that refers to it by name works in v2 only if the runtime declares it, with the number of the rendezvous port. If "
        "another port of the container has that number, the probe uses the number instead."
    ),
    remedy="No action needed.",
    effort=0,
    explains=("*Probe.*.port", "lifecycle.*.port"),
)

_NUMBER = r"\d{4,5}(?!\d)"
_GAP = r"\s{1,9}"
_RANGE = late_pattern(
    rf"\bseq{_GAP}(?P<seq>{_NUMBER}){_GAP}(?:(?P<seq_step>\d{{1,5}}){_GAP})?(?P<seq_last>{_NUMBER})"
    rf"|\brange\(\s{{0,9}}(?P<range>{_NUMBER})\s{{0,9}},\s{{0,9}}(?P<range_end>{_NUMBER})(?:\s{{0,9}},\s{{0,9}}(?P<range_step>\d{{1,5}}))?"
    rf"|\{{(?P<braces>{_NUMBER})\.\.(?P<braces_last>{_NUMBER})(?:\.\.(?P<braces_step>\d{{1,5}}))?\}}"
    rf"|\bnc\s(?:[^\n;|&]{{0,200}}?\s)?(?P<nc>{_NUMBER})-(?P<nc_last>{_NUMBER})"
)
_WIDEST = 2000
"""Numbers of a range that is one of ports."""
_SUM = late_pattern(
    r"(?<![\w.])(?P<first>\d{1,5})[ \t]{0,9}(?P<sign>[+-])[ \t]{0,9}(?P<second>\d{1,5})"
    r"(?![\w.]|[ \t]{0,9}(?:[-*/%<>&|^]|\)[ \t]{0,9}[-+*/%]|\+[ \t]{0,9}\d))"
)
"""Of two numbers, and no more: that of a rank may follow."""
_CALLS = r"bind|listen|socket|connect\w{0,12}|is_open|probe"
_OF_NETWORKS = rf"(?i:(?<![a-z])(?<!master[_-])(?:ports?|nc|ncat|nmap|telnet|{_CALLS})(?![a-z])|/dev/tcp/)"
"""A word near a number that makes a port of it."""
_NETWORK = late_pattern(_OF_NETWORKS)
_OPERATORS = ("+", "-", "*", "/", "%", "<", ">", "&", "|", "^", "*(", "* (")
_INDENT = 10
"""Blanks between an operator and a number."""
_NEAR = 300
"""Characters behind a number that speak of it, as the body of a loop does."""


def apply(draft: Draft) -> None:
    """Declares the port where a probe or hook asks for it by name. If pods meet elsewhere in v2, reports what still has the old
    number."""
    port = draft.job_kind.port
    if port is None:
        return
    meets_elsewhere = bool(draft.ml_policy.keys() & _MEETING_ELSEWHERE)
    for group in draft.groups:
        _declare(draft, group, port, PORT if meets_elsewhere else port.number)
    if meets_elsewhere:
        _look_at_programs(draft, port.number)
        for group in draft.groups:
            _look_at_probes(draft, group, port.number)
            _look_at_annotations(draft, group, port.number)


def _declare(draft: Draft, group: Group, port: Port, number: int) -> None:
    training = draft.training_container(group)
    declared = training.get("ports") or []
    named = [path for path, asked in _asked(training) if asked == port.name]
    if not named or any(one.get("name") == port.name for one in declared):
        return
    place = _container(draft, group)
    if any(one.get("containerPort") == number and one.get("protocol") in (None, "TCP") for one in declared):
        # A container declares a number once: another name of it leaves none for this one.
        for *parent, field in named:
            value_at(training, tuple(parent))[field] = number
            draft.changed(group, ("spec", *place[-2:], *parent, field), f"{port.name} is {number} in v2")
        draft.report(DECLARED, (*place, *named[0]), f"{port.name} is {number} in v2, and is referred to by its number.")
        return
    training["ports"] = [*declared, {"name": port.name, "containerPort": number}]
    draft.report(DECLARED, (*place, *named[0]), f"{port.name} is {number} in the runtime, where the pods meet in v2.")


def _look_at_programs(draft: Draft, number: int) -> None:
    """Says where a program names the port, whichever container runs it."""
    pattern = _pattern(number)
    for programs in all_programs(draft):
        for found in matches(programs, pattern):
            says = f"{found.line} names {number}, where v1's pods meet; v2's meet at {PORT}."
            draft.report(FIXED_PORT, found.path, says, offset=found.offset)
        for line, path, offset in _ranges(programs, number):
            says = f"{line} goes through ports with {number}, where v1's pods meet; v2's meet at {PORT}."
            draft.report(FIXED_PORT, path, says, offset=offset)
        for line, path, offset in _sums(programs, number):
            says = f"{line} makes {number}, where v1's pods meet; v2's meet at {PORT}."
            draft.report(FIXED_PORT, path, says, offset=offset)
        overridden = draft.operator_variables(programs.roles[0]) if programs.field == "containers" else ()
        for index, variable in enumerate(programs.container.get("env") or ()):
            name, value = variable.get("name"), variable.get("value")
            if isinstance(value, str) and name not in overridden and pattern.search(value):
                says = (
                    f"{name} is {variable_excerpt(str(name), value)!r}, with {number}, where v1's pods meet; v2's meet at {PORT}."
                )
                draft.report(FIXED_PORT, (*programs.path, "env", index, "value"), says)


def _look_at_probes(draft: Draft, group: Group, number: int) -> None:
    for field in ("initContainers", "containers"):
        for index, container in enumerate(group.pod["spec"].get(field) or ()):
            numbers = {one.get("name"): one.get("containerPort") for one in container.get("ports") or ()}
            for path, asked in _asked(container):
                if str(numbers.get(asked, asked)) == str(number):
                    says = f"{path[0]} asks for {asked}, where v1's pods meet; v2's meet at {PORT}."
                    draft.report(FIXED_PORT, (*draft.template_paths(group)[0], "spec", field, index, *path), says)


def _look_at_annotations(draft: Draft, group: Group, number: int) -> None:
    annotations: Json = (group.pod.get("metadata") or {}).get("annotations") or {}
    pattern = _pattern(number)
    for key, value in annotations.items():
        if isinstance(value, str) and pattern.search(value):
            says = f"{key} names {number}, where v1's pods meet; v2's meet at {PORT}."
            draft.report(FIXED_PORT, (*draft.template_paths(group)[0], "metadata", "annotations", key), says)


def _asked(container: Json) -> Iterator[tuple[Path, object]]:
    """The ports, by number or name, that probes and hooks ask for, and where; of an URL of another host none."""
    for path in _ASKING:
        found = value_at(container, path)
        if isinstance(found, dict) and not found.get("host") and "port" in found:
            yield (*path, "port"), found["port"]


def _container(draft: Draft, group: Group) -> Path:
    return (*draft.template_paths(group)[0], "spec", "containers", draft.container_index(group.roles[0]))


def _ranges(programs: Programs, number: int) -> Iterator[tuple[str, Path, int | None]]:
    """The lines of programs that go through numbers of which it is one, and where they stand."""
    for text, spot in programs.texts:
        for match in _RANGE.finditer(text):
            numbers = _numbers(match)
            if number in numbers and numbers[-1] - numbers[0] <= _WIDEST and _is_of_networks(text, match):
                yield quoted(text, match.start(), spot), *place(programs, spot, spot.offset(match.start()))
                break


def _numbers(match: re.Match[str]) -> range:
    """What a match of `_RANGE` goes through."""
    found = match.groupdict()
    if found["range"]:
        return range(int(found["range"]), int(found["range_end"]), int(found["range_step"] or 1) or 1)
    way = next(way for way in ("seq", "braces", "nc") if found[way])
    return range(int(found[way]), int(found[f"{way}_last"]) + 1, int(found.get(f"{way}_step") or 1) or 1)


def _sums(programs: Programs, number: int) -> Iterator[tuple[str, Path, int | None]]:
    """The lines of programs that add or subtract two numbers to get it, and where they stand."""
    for text, spot in programs.texts:
        for match in _SUM.finditer(text):
            second = int(match["second"]) if match["sign"] == "+" else -int(match["second"])
            if int(match["first"]) + second != number or not _is_of_networks(text, match):
                continue
            before = text[max(0, match.start() - _INDENT) : match.start()].rstrip(" \t")
            if not before.endswith(_OPERATORS):
                yield quoted(text, match.start(), spot), *place(programs, spot, spot.offset(match.start()))
                break


def _is_of_networks(text: str, match: re.Match[str]) -> bool:
    begins = max(text.rfind("\n", 0, match.start()) + 1, match.start() - _NEAR)
    return _NETWORK.search(text, begins, match.end() + _NEAR) is not None


@cache
def _pattern(number: int) -> re.Pattern[str]:
    """The number, as the kernel writes it in /proc/net/tcp as well, and in hexadecimal near a word of networks."""
    of_kernel = rf"/net/tcp6?\b[^\n]{{0,400}}?:{number:04x}\b|:{number:04x}\b[^\n]{{0,400}}?/net/tcp6?\b"
    bare = rf"\b0x0{{0,8}}{number:x}\b"
    near = rf"{bare}(?=[\s\S]{{0,{_NEAR}}}?{_OF_NETWORKS})|{_OF_NETWORKS}[^\n]{{0,{_NEAR}}}?{bare}"
    return re.compile(rf"(?<!\d){number}(?!\d)|(?i:{of_kernel}|{near})")
