"""Replacements of a kustomization that name v1 jobs, aimed at the TrainJobs: each field is looked up in what the conversion says
became of it. One that cannot be said of the TrainJob stays as it is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import yaml

from shunter.api.late_patterns import late_pattern
from shunter.api.meta import Json
from shunter.api.resources import TRAIN_JOBS
from shunter.api.training.kinds import JOB_KINDS
from shunter.api.yaml import Loader
from shunter.migrate.conversion.one_job import Conversion
from shunter.migrate.conversion.source.files import BOM
from shunter.migrate.paths import MISSING, Path, value_at

_KINDS = frozenset(kind.resource.kind for kind in JOB_KINDS)
_STEP = late_pattern(r"\[([^\]=]+)=([^\]]*)\]|((?:\\.|[^.\\\[])+)")
_GROUPS = {"group": TRAIN_JOBS.group, "version": TRAIN_JOBS.version, "kind": TRAIN_JOBS.kind}


def aimed_at_train_jobs(text: str, conversions: Sequence[Conversion]) -> str:
    """The kustomization's text with those of its replacements rewritten that are wholly about fields which the TrainJobs have as
    well. `conversions` are those of the jobs that it builds."""
    if text.startswith(BOM):  # places of nodes are counted without it
        return BOM + aimed_at_train_jobs(text.removeprefix(BOM), conversions)
    root = yaml.compose(text, Loader=Loader)
    entries = _child(root, "replacements")
    if not isinstance(entries, yaml.SequenceNode):
        return text
    changes: dict[tuple[int, int], str] = {}
    for entry in entries.value:
        found = {
            (node.start_mark.index, node.end_mark.index): new for node, new in (_changes_of(entry, conversions) or {}).items()
        }
        if not any(text[start] in "&!" for start, _ in found):  # an anchor or a tag would go with the value
            changes |= found
    for (start, end), written in sorted(changes.items(), reverse=True):
        text = text[:start] + written + text[end:]
    return text


def _changes_of(entry: yaml.Node, conversions: Sequence[Conversion]) -> dict[yaml.ScalarNode, str] | None:
    """What to write in place of which scalars; None when a field has no counterpart in a TrainJob."""
    changes: dict[yaml.ScalarNode, str] = {}
    for selector, paths in _selectors(entry):
        kind = _text(_child(selector, "kind"))
        if kind not in _KINDS:
            continue
        name = _text(_child(selector, "name"))
        of_kind = [each for each in conversions if each.source.kind == kind]
        jobs = [each for each in of_kind if each.source.name == name] or of_kind
        if not jobs:
            return None
        for path in paths:
            fields = {_translated(path.value, job) for job in jobs}
            field = fields.pop() if len(fields) == 1 else None
            if field is None:
                return None
            changes[path] = field
        for key, written in _GROUPS.items():
            node = _child(selector, key)
            if isinstance(node, yaml.ScalarNode):
                changes[node] = written
    return changes


def _selectors(entry: yaml.Node) -> Iterator[tuple[yaml.Node, list[yaml.ScalarNode]]]:
    """What selects objects in a replacement, with the fields that are meant; kustomize's default field is metadata.name."""
    source = _child(entry, "source")
    if source is not None:
        yield source, _scalars([_child(source, "fieldPath")])
    targets = _child(entry, "targets")
    for target in targets.value if isinstance(targets, yaml.SequenceNode) else ():
        listed = _child(target, "fieldPaths")
        paths = _scalars(listed.value if isinstance(listed, yaml.SequenceNode) else [])
        select = _child(target, "select")
        if select is not None:
            yield select, paths
        rejected = _child(target, "reject")
        for reject in rejected.value if isinstance(rejected, yaml.SequenceNode) else ():
            yield reject, []


def _translated(text: str, job: Conversion) -> str | None:
    """Where a field of the job stands in its TrainJob with the same value, in kustomize's words."""
    path = _path(text, job.source.value)
    target = next((row.target for row in job.rows if path is not None and row.path == path), None)
    if path is None or target is None or target.manifest != TRAIN_JOBS.kind:
        return None
    if value_at(job.train_job, target.path) != value_at(job.source.value, path):
        return None
    return _shown(target.path)


def _path(text: str, job: Json) -> Path | None:
    """`spec.containers.[name=a].image` as keys and indexes of this very job."""
    path: Path = ()
    for key, wanted, word in _STEP.findall(text):
        value: Any = value_at(job, path)
        if key:
            listed = value if isinstance(value, list) else []
            indexes = [index for index, item in enumerate(listed) if isinstance(item, Mapping) and str(item.get(key)) == wanted]
            if len(indexes) != 1:
                return None
            path = (*path, indexes[0])
        elif isinstance(value, list):
            if not word.isdigit():
                return None
            path = (*path, int(word))
        else:
            path = (*path, re.sub(r"\\(.)", r"\1", word))
    return None if value_at(job, path) is MISSING else path


def _shown(path: Path) -> str:
    return ".".join(str(step).replace(".", "\\.") for step in path)


def _child(node: yaml.Node | None, key: str) -> yaml.Node | None:
    pairs = node.value if isinstance(node, yaml.MappingNode) else []
    return next((value for name, value in pairs if isinstance(name, yaml.ScalarNode) and name.value == key), None)


def _scalars(nodes: Sequence[yaml.Node | None]) -> list[yaml.ScalarNode]:
    return [node for node in nodes if isinstance(node, yaml.ScalarNode)]


def _text(node: yaml.Node | None) -> str:
    return node.value if isinstance(node, yaml.ScalarNode) else ""
