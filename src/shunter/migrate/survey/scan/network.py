"""Network settings in any file (manifests, scripts, Dockerfiles, Python, documents), if there is a verdict on them. v1 jobs are
checked as well, because their conversion does not change variables.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator

from shunter.fabrics import profiles
from shunter.fabrics import settings as network
from shunter.fabrics.settings import Rule, Verdict
from shunter.migrate.findings import Topic
from shunter.migrate.v1_texts.reference import Reference


def _topic(id: str, rule: Rule) -> Topic:
    return Topic(
        id=id,
        title=rule.title,
        severity=rule.severity,
        other_impact="advisory" if rule.severity == "error" else None,
        change="manual",
        grade="E",
        explanation=f"{' and '.join(rule.names)}: {rule.reason} It is the same in v1 and v2.",
        remedy=rule.remedy,
    )


WRONG_NETWORK = _topic("SCAN040", network.WRONG_NETWORK)
NO_TIMEOUT = _topic("SCAN041", network.NO_TIMEOUT)
OLD_PROVIDER = _topic("SCAN042", network.OLD_PROVIDER)
SIMPLE_PROTOCOL = _topic("SCAN043", network.SIMPLE_PROTOCOL)
DEVICE_RDMA = _topic("SCAN044", network.DEVICE_RDMA)
ONE_INTERFACE = _topic("SCAN045", network.ONE_INTERFACE)
DEBUG_OUTPUT = _topic("SCAN046", network.DEBUG_OUTPUT)
FORK_SAFE = _topic("SCAN047", network.FORK_SAFE)
TUNING = _topic("SCAN048", network.TUNING)
EFA_COUNT = _topic("SCAN049", network.EFA_COUNT)
_TOPICS = {
    topic.title: topic
    for topic in (
        WRONG_NETWORK, NO_TIMEOUT, OLD_PROVIDER, SIMPLE_PROTOCOL, DEVICE_RDMA, ONE_INTERFACE, DEBUG_OUTPUT, FORK_SAFE, TUNING,
        EFA_COUNT,
    )
}  # fmt: skip
_WORDS = (b"NCCL_", b"FI_", b"RDMAV_", network.EFA_RESOURCE.encode())
_NAME = "|".join(sorted((*network.BY_NAME, network.START_ONLY[0]), key=len, reverse=True))
_SETTING = re.compile(
    rf"(?<![A-Za-z0-9_])(?P<name>{_NAME})(?![A-Za-z0-9_])"
    # `- name: X` and `value:` on the next line, `{name: X, value: ...}`, JSON; else `X=`, `X: `, `environ["X"] = `.
    r"(?:[\"']?[ \t]*,?\s{0,80}[\"']?value[\"']?[ \t]*:|[\"']?\]?[ \t]{0,20}[:=,])"
    r"[ \t]{0,20}(?:\"(?P<double>[^\"\n]{0,200})\"|'(?P<single>[^'\n]{0,200})'|(?P<bare>[^\s\"'`,;)}\]]{1,200}))"
)
_EFA = re.compile(rf"{re.escape(network.EFA_RESOURCE)}[\"']?[ \t]*[:=][ \t]*[\"']?(?P<count>\d{{1,6}})(?![\w.])")
_MACHINE = re.compile(rf"(?<![\w.])(?:{'|'.join(re.escape(machine.type) for machine in profiles()['efa'].instances)})(?![\w-])")


def may_have_settings(content: bytes) -> bool:
    """Whether the file has one of these words; most have none."""
    return any(word in content for word in _WORDS)


def references(text: str) -> Iterator[Reference]:
    """All settings with a verdict, except in comments of scripts and YAML."""
    lines = [0, *(match.end() for match in re.finditer("\n", text))]
    settings = [
        (match, next(group for group in (match["double"], match["single"], match["bare"]) if group is not None))
        for match in _SETTING.finditer(text)
    ]
    beside = {(match["name"], value) for match, value in settings}
    for match, value in settings:
        verdict = network.variable_verdict(match["name"], value)
        if verdict is not None and not network.is_resolved(verdict, beside):
            yield from _reference(text, lines, match.start("name"), match.end("name"), verdict)
    machines = list(dict.fromkeys(_MACHINE.findall(text)))
    for match in _EFA.finditer(text):
        if verdict := network.efa_verdict(int(match["count"]), machines):
            yield from _reference(text, lines, match.start(), match.end(), verdict)


def _reference(text: str, lines: list[int], start: int, end: int, verdict: Verdict) -> Iterator[Reference]:
    number = bisect.bisect_right(lines, start)
    before = text[lines[number - 1] : start]
    if not before.lstrip().startswith(("#", "//")):
        rule = verdict.rule
        topic = _TOPICS[rule.title]
        yield Reference(topic, number, len(before) + 1, end - start, f"{verdict.setting}: {rule.reason}", rule.remedy)
