"""The report as SARIF 2.1.0, which code hosts and editors show next to the lines."""

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
    """One run, whose rules are the topics of its findings. Suppressed findings are marked as such."""
    ids = sorted({finding.id for _, finding in contents.findings})
    fingerprints: Counter[str] = Counter()
    run = {
        "tool": {"driver": {"name": "shunter", "version": __version__, "rules": [_rule(id) for id in ids]}},
        "columnKind": "unicodeCodePoints",
        "automationDetails": {"id": f"migrate/{contents.about}/"},
        "results": [_result(item, finding, ids.index(finding.id), fingerprints) for item, finding in contents.findings],
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


def _result(item: Item, finding: ReportedFinding, rule_index: int, fingerprints: Counter[str]) -> Json:
    fingerprint = _fingerprint(item, finding)
    fingerprints[fingerprint] += 1
    result: Json = {
        "ruleId": finding.id,
        "ruleIndex": rule_index,
        "level": LEVELS[finding.severity],
        "message": {"text": f"{finding.message} {finding.remedy}".strip()},
        "locations": [_location(item, finding)],
        "partialFingerprints": {"shunter/v1": f"{fingerprint}:{fingerprints[fingerprint]}"},
    }
    if finding.suppressed:
        result["suppressions"] = [{"kind": "external", "justification": finding.suppressed}]
    return result


def _location(item: Item, finding: ReportedFinding) -> Json:
    location: Json = {}
    if finding.line:
        region = {"startLine": finding.line, "startColumn": max(finding.column, 1)}
        location["physicalLocation"] = {"artifactLocation": {"uri": _uri(finding.source)}, "region": region}
    if item.name:
        full = f"{item.title} {finding.field}".strip()
        location["logicalLocations"] = [{"name": item.name, "fullyQualifiedName": full, "kind": "object"}]
    elif not finding.line:
        location["logicalLocations"] = [{"fullyQualifiedName": finding.source, "kind": "object"}]
    return location


def _uri(source: str) -> str:
    """A relative path as a relative reference, an absolute one as a file's."""
    path = PurePath(source)
    return path.as_uri() if path.is_absolute() else quote(path.as_posix())


def _fingerprint(item: Item, finding: ReportedFinding) -> str:
    """Stable when lines move: it depends on the finding, not its position. Repeated findings of an object are numbered."""
    return hashlib.sha256("\0".join((finding.id, item.title, finding.field, finding.message)).encode()).hexdigest()[:32]
