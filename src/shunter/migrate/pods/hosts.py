"""The names by which the pods of a job reach each other, on either side, and texts in which they stand.

v1 gives each pod a Service of its name, `bert-master-0`; v2 gives each a name in the domain of the JobSet's headless Service,
`bert-node-0-0.bert`. A name of the one side means nothing on the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shunter.api.late_patterns import late_pattern

_LETTER = r"[A-Za-z0-9_.-]"
_NAME = late_pattern(rf"(?<!{_LETTER})(?<!^/)(?<![^/]/)[A-Za-z0-9](?:{_LETTER}*[A-Za-z0-9_])?")
"""Anything that may be a host name; part of a path is none. One pattern for all jobs: to compile one for each takes longer than
to use it."""


class Hosts:
    """The pods of one side by the names that they have there; a name has the same mark on both sides."""

    def __init__(self, marks: Mapping[str, str], namespace: str) -> None:
        """`marks` gives the mark of each name, as short as the other pods may say it."""
        self._marks = dict(marks)
        self._texts: dict[str, str] = {}
        """Texts with their marks: pods say the same of each other."""
        self._service_domain = f"{namespace}.svc"
        self._namespace = namespace
        self._beginning = common_beginning(min(marks, default=""), max(marks, default=""))
        """Of all names: most texts do not have even that."""

    def marked(self, value: Any) -> Any:
        """The value with a mark in the place of each name of a pod, be it short or with its namespace and domain."""
        if isinstance(value, str):
            if not self._marks or self._beginning not in value:
                return value
            if value not in self._texts:
                self._texts[value] = _NAME.sub(lambda match: self._mark(match[0]), value)
            return self._texts[value]
        if isinstance(value, dict):
            return {self.marked(key): self.marked(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.marked(item) for item in value]
        return value

    def _mark(self, name: str) -> str:
        if name in self._marks:
            return self._marks[name]
        end = name.find(".")
        while end != -1:
            if name[:end] in self._marks and self._is_domain(name[end + 1 :]):
                return self._marks[name[:end]]
            end = name.find(".", end + 1)
        return name

    def _is_domain(self, rest: str) -> bool:
        """Whether it is the job's namespace, alone or up to the cluster's domain."""
        return rest in (self._namespace, self._service_domain) or rest.startswith(f"{self._service_domain}.")


def common_beginning(first: str, last: str) -> str:
    """What both begin with, and so does every text between them."""
    for place, letter in enumerate(first):
        if last[place : place + 1] != letter:
            return first[:place]
    return first
