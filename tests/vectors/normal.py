"""Brings the answers of a case into a form that is the same in every run.

What a server makes up (uids, times, revisions, random names, addresses, tokens) is replaced by a name that counts up in order of
first appearance, so that it still shows whether two of them are equal. Lists whose order means nothing are sorted.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import Any

Json = dict[str, Any]

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_TOKEN = re.compile(r"eyJ[\w-]+\.eyJ[\w-]+\.[\w-]+")
_REVISION = re.compile(
    r'(resourceVersion\\*": ?\\*"|record \(|precondition \(0|current: |'
    r"too old resource version: |too old: |ResourceVersion: |resource version: )"
    r"\d+( \(\d+\))?"
)
_OBJECT = re.compile(r"Invalid value: (?:\{.*?\}|\[\{.*?\}\]|\[map\[.*?\]\]|map\[.*?\]): ")
_SHOWN = re.compile(r"Invalid value: \"\{.*\}\": ")
_FAULT = re.compile(
    r", (?=[A-Za-z.<>\"\[\]0-9-]+(?:\[[^\]]*\]|\.[A-Za-z0-9-]+)*: "
    r"(?:Invalid|Required|Forbidden|Unsupported|Duplicate|Too|Internal|Not))"
)
_ADDRESS = re.compile(r"\b10\.\d+\.\d+\.\d+\b")
_HASH = re.compile(r"hash=[0-9A-F]+")
_SELF_TYPE = re.compile(r"\bselfType\d+")
"""What the type of `self` is called while its rules are compiled."""
_AGE = re.compile(r"(\d+[smhdy])+")
_RECENT_SECONDS = 86400 * 2


def times(text: str) -> frozenset[str]:
    """The moments that stand in a text, to the second."""
    return frozenset(match[0][:19] for match in _TIME.finditer(text))


class Normal:
    """The normaliser of one case. The moments in `written` are the case's own words and stay, however recent they are."""

    def __init__(self, replaced: dict[str, str], *, timed: bool = False, written: frozenset[str] = frozenset()) -> None:
        self._written = written
        self._replaced = sorted(replaced.items(), key=lambda pair: -len(pair[0]))
        self._timed = timed
        self._seen: dict[str, dict[str, str]] = {}
        self._random: dict[str, str] = {}

    def learn(self, value: Any) -> None:
        """Takes note of names that the server drew."""
        if isinstance(value, dict):
            base, name = value.get("generateName"), value.get("name")
            if base and isinstance(name, str) and name.startswith(base) and name not in self._random:
                self._random[name] = f"{base}<random-{len(self._random) + 1}>"
            for part in value.values():
                self.learn(part)
        elif isinstance(value, list):
            for part in value:
                self.learn(part)

    def __call__(self, value: Any) -> Any:
        if isinstance(value, dict):
            return self._object(value)
        if isinstance(value, list):
            return [self(part) for part in value]
        return self.text(value) if isinstance(value, str) else value

    def text(self, value: str) -> str:
        for name, stable in self._random.items():
            value = value.replace(name, stable)
        for found, stable in self._replaced:
            value = value.replace(found, stable)
        value = _UUID.sub(lambda match: self._stable("uid", match[0]), _TOKEN.sub("<token>", value))
        value = _TIME.sub(self._time, value)
        value = _SELF_TYPE.sub("selfType<number>", _ADDRESS.sub("<address>", _HASH.sub("hash=<hash>", value)))
        return _REVISION.sub(r"\1<revision>", value)

    def _object(self, value: Json) -> Json:
        if value.get("kind") == "Status" and value.get("status") == "Failure":
            value = _refusal(value)
        if value.get("kind") == "AdmissionReview":
            value = _review(value)
        if value.get("kind") == "Table" and "columnDefinitions" in value:
            value = _table(value)
        return {(self.text(name)): self._part(name, part, value) for name, part in value.items() if name != "continue" or part}

    def _part(self, name: str, part: Any, parent: Json) -> Any:
        if name == "resourceVersion" and isinstance(part, str) and part:
            return self._stable("rv", part) if "uid" in parent else "<revision>"
        if name == "continue":
            return "<continue>"
        if name in ("nodePort", "healthCheckNodePort") and isinstance(part, int) and part >= 30000:
            return "<node port>"
        if name == "managedFields" and isinstance(part, list):
            return self._fields(part)
        if name == "timeoutSeconds" or not isinstance(part, str):
            return self(part)
        if name in ("serverAddress", "clusterIP") and part not in ("", "None"):
            return "<address>"
        return self.text(part)

    def _fields(self, entries: list[Json]) -> list[Json]:
        """In an order that does not depend on the second in which a write came, unless times are compared."""
        shown = [self(entry) for entry in entries]
        if self._timed:
            return shown
        return sorted(shown, key=lambda entry: json.dumps([entry.get("operation"), entry.get("manager"), entry], sort_keys=True))

    def _stable(self, what: str, value: str) -> str:
        seen = self._seen.setdefault(what, {})
        return seen.setdefault(value, f"<{what}-{len(seen) + 1}>")

    def _time(self, match: re.Match[str]) -> str:
        """Times of the run; those that stand in the case stay."""
        if match[0][:19] in self._written:
            return match[0]
        moment = datetime.fromisoformat(match[0][:19] + "+00:00")
        if abs((datetime.now(UTC) - moment).total_seconds()) > _RECENT_SECONDS:
            return match[0]
        return self._stable("time", match[0][:19]) if self._timed else "<time>"


def _refusal(status: Json) -> Json:
    """A Status whose faults stand in one order: Go ranges over maps. Objects in Go's internal form are left out."""
    result = {**status, "message": _faults_sorted(_without_objects(status.get("message", "")))}
    details = status.get("details")
    if details and details.get("causes"):
        causes: list[Json] = []
        for cause in details["causes"]:
            shown = {**cause, "message": _without_objects(cause.get("message", ""))}
            if shown not in causes:
                causes.append(shown)
        result["details"] = {**details, "causes": sorted(causes, key=lambda cause: (cause.get("field", ""), repr(cause)))}
    return result


def _without_objects(message: str) -> str:
    return _SHOWN.sub("Invalid value: <object>: ", _OBJECT.sub("Invalid value: <object>: ", message))


def _faults_sorted(message: str) -> str:
    head, errors, rest = message.partition(": errors:\n")
    if errors:
        return head + errors + "\n".join(sorted(set(rest.split("\n"))))
    head, bracket, rest = message.partition(" is invalid: [")
    if not bracket or not rest.endswith("]"):
        return message
    return head + bracket + ", ".join(sorted(set(_FAULT.split(rest[:-1])))) + "]"


def _review(review: Json) -> Json:
    """Without what tells two requests, and two ways to log in, apart."""
    user = {name: part for name, part in review["request"]["userInfo"].items() if name not in ("extra", "username")}
    return {**review, "request": {**review["request"], "uid": "<review>", "userInfo": user}}


def _table(table: Json) -> Json:
    """Without ages and the texts that describe columns."""
    columns = table["columnDefinitions"]
    rows = []
    for row in table.get("rows") or ():
        cells = ["<age>" if isinstance(cell, str) and _AGE.fullmatch(cell) else cell for cell in row["cells"]]
        rows.append({**row, "cells": cells})
    shown = columns and [{name: part for name, part in column.items() if name != "description"} for column in columns]
    return {**table, "columnDefinitions": shown, "rows": rows}
