"""Brings the output of kubectl into a form that is the same in every run: what a server makes up gets a name of its own."""

from __future__ import annotations

import re

_RANDOM = "[bcdfghjklmnpqrstvwxz2456789]"
"""The letters of Kubernetes' random names and hashes."""
_PLACES: list[tuple[re.Pattern[str], str]] = [
    (re.compile(pattern, re.MULTILINE), name)
    for pattern, name in (
        # The taint of our node on a real cluster, and what comes of it.
        (r"^ +- effect: NoSchedule\n +key: (?:shunter.dev/process|node.kubernetes.io/memory-pressure)\n +operator: Exists\n", ""),
        (r"^ +(?:shunter.dev/process|node.kubernetes.io/memory-pressure):NoSchedule op=Exists\n", ""),
        (r"node.kubernetes.io/memory-pressure:NoSchedule op=Exists\n +", ""),
        (r"scheduler.alpha.kubernetes.io/defaultTolerations: .*", "<none>"),
        (r"^[EWI]\d{4} [\d:.]+ +\d+ ", "<log> "),
        (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "<uid>"),
        (r"\b[0-9a-f]{64}\b", "<id>"),
        (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z| ?[+-]\d\d:?\d\d)", "<time>"),
        (r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d [+-]\d{4}", "<time>"),
        (r"nodePort: \d+", "nodePort: <port>"),
        (r"(?<=\s)\d+Mi(?= *$)", "<memory>"),
        (r"/\S*/(LIVE|MERGED)-\d+/", r"<\1>/"),
        (r"(resourceVersion\"?: ?\\?\"?)\d+", r"\1<revision>"),
        (r"eyJ[\w-]+\.[\w-]+\.[\w-]+", "<token>"),
        (r"(127\.0\.0\.1|\[::1\]|localhost):\d+", r"\1:<port>"),
        (r"\b(?!127\.0\.0\.1\b)(?!0\.0\.0\.0\b)\d+\.\d+\.\d+\.\d+(/\d+)?\b", "<address>"),
        (rf"(?<=[-=]){_RANDOM}{{8,10}}-{_RANDOM}{{5}}\b", "<hash>-<random>"),
        (rf"(?<=[-=:]){_RANDOM}{{8,10}}\b", "<hash>"),
        (rf"(?<=[-=]){_RANDOM}{{5}}\b", "<random>"),
        (r"(?<![\w.=\"'/-])(\d+[dhms])+(?![\w=])", "<age>"),
    )
]
_GAP = re.compile(r"(?<=\S)(?: {2,}|\t+ *)")


def normal(text: str, replaced: dict[str, str], *, sort: bool = False) -> list[str]:
    """The lines of an output. `replaced` are the names of this run; gaps between columns, whose width depends on what a server
    makes up, are two spaces."""
    for found, name in replaced.items():
        text = re.sub(rf"(?<![\w+-]){re.escape(found)}(?![\w-]|\.dev|:/| runs)", name, text)
    for pattern, name in _PLACES:
        text = pattern.sub(name, text)
    lines = [_GAP.sub("  ", line).rstrip() for line in text.splitlines()]
    return sorted(lines) if sort else lines
