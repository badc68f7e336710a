"""The report as SARIF 2.1.0, which code hosts and editors show beside the lines."""

from __future__ import annotations

import hashlib
from collections import Counter
from pathlib import PurePath
from urllib.parse import quote

import msgspec

from shunter import __version__
from shunter.api.meta import Json
from shunter.migrate.catalogue import topics
from shunter.migrate.survey.report.contents import Contents, Item, ReportedFinding

LEVELS = {"info": "note", "warning": "warning", "error": "error"}


def written(contents: Contents) -> str:
    """One run, with the topics that were found as its rules. Suppressed findings are in it, and say that they are."""
    ids = sorted({told.id for _, told in contents.findings})
    seen: Counter[str] = Counter()
    run = {
        "tool": {"driver": {"name": "shunter", "version": __version__, "rules": [_rule(id) for id in ids]}},
        "columnKind": "unicodeCodePoints",
        "automationDetails": {"id": f"migrate/{contents.about}/"},
        "results": [_result(item, told, ids.index(told.id), seen) for item, told in contents.findings],
    }
    log = {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}
    return msgspec.json.format(msgspec.json.encode(log)).decode() + "\n"


def _rule(id: str) -> Json:
    topic = topics()[id]
    upstream = f"\n\nUpstream: {topic.upstream}" if topic.upstream else ""
    help = {
        "text": f"{topic.explanation}\n\n{topic.remedy}",
        "markdown": f"{topic.explanation}\n\n**What to do:** {topic.remedy}{upstream}",
    }
    return {
        "id": id,
        "shortDescription": {"text": topic.title},
        "fullDescription": {"text": topic.explanation},
        "help": help,
        "defaultConfiguration": {"level": LEVELS[topic.severity]},
        "properties": {"impact": topic.impact, "change": topic.change, "grade": topic.grade, "effort": topic.effort},
    }


def _result(item: Item, told: ReportedFinding, rule_index: int, seen: Counter[str]) -> Json:
    fingerprint = _fingerprint(item, told)
    seen[fingerprint] += 1
    result: Json = {
        "ruleId": told.id,
        "ruleIndex": rule_index,
        "level": LEVELS[told.severity],
        "message": {"text": f"{told.message} {told.remedy}".strip()},
        "locations": [_location(item, told)],
        "partialFingerprints": {"shunter/v1": f"{fingerprint}:{seen[fingerprint]}"},
    }
    if told.suppressed:
        result["suppressions"] = [{"kind": "external", "justification": told.suppressed}]
    return result


def _location(item: Item, told: ReportedFinding) -> Json:
    location: Json = {}
    if told.line:
        region = {"startLine": told.line, "startColumn": max(told.column, 1)}
        location["physicalLocation"] = {"artifactLocation": {"uri": _uri(told.source)}, "region": region}
    if item.name:
        full = f"{item.title} {told.field}".strip()
        location["logicalLocations"] = [{"name": item.name, "fullyQualifiedName": full, "kind": "object"}]
    elif not told.line:
        location["logicalLocations"] = [{"fullyQualifiedName": told.source, "kind": "object"}]
    return location


def _uri(source: str) -> str:
    """A relative path as a relative reference, an absolute one as a file's."""
    path = PurePath(source)
    return path.as_uri() if path.is_absolute() else quote(path.as_posix())


def _fingerprint(item: Item, told: ReportedFinding) -> str:
    """Stays when lines move: of what was found, not where. What is found again in the same object is numbered."""
    return hashlib.sha256("\0".join((told.id, item.title, told.field, told.message)).encode()).hexdigest()[:32]
