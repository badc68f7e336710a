"""v1 jobs within other things: trials of Katib, steps of Argo and pipelines, scripts that call kubectl, values of charts.

Two ways: as an object in plain YAML, which has a place like any other and can be converted where it stands; or as text in a
string, YAML or JSON, a shell's here-document included, which is found and reported. So are the jobs in values of charts, where no
runtime could stand beside them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec
import yaml

from shunter.api.late_patterns import late_pattern
from shunter.api.yaml import Loader
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.conversion.source.size import refuse_depth, refuse_expansion
from shunter.migrate.conversion.source.versions import is_convertible
from shunter.migrate.conversion.source.yaml_nodes import fields
from shunter.migrate.findings import Finding, Topic
from shunter.migrate.paths import Path, path_text

WITHIN_OBJECT = Topic(
    id="INPUT009",
    title="a v1 job embedded in another object",
    severity="warning",
    change="manual",
    grade="D",
    explanation=(
        "Another object creates this job: a Katib Experiment for each trial, or a workflow as a step. The embedded job is "
        "converted in place, and its runtime is written before the object. In an Experiment the primary container, the labels "
        "of the primary pod and the conditions are converted too; in other owners, references to the v1 job stay unchanged."
    ),
    remedy=(
        "If the owner is not an Experiment, change its references: the container `node` instead of v1's, the first pod by the "
        'label batch.kubernetes.io/job-completion-index: "0", and the condition Complete for success. The owner\'s service '
        "account needs permission to create trainjobs."
    ),
    effort=5,
)
WITHIN_TEXT = Topic(
    id="INPUT010",
    title="a v1 job in a string or in values",
    severity="error",
    change="manual",
    grade="N",
    explanation=(
        "A string or the values of a chart contain the manifest of a v1 job: a step of Argo Workflows or of a pipeline, a "
        "script that calls kubectl, a file in a ConfigMap. It is left unchanged, because its reader may first fill in "
        "parameters and may not handle two objects in place of one. A job that other parts of its file refer to (YAML aliases) "
        "is left unchanged too."
    ),
    remedy="Extract the text, convert it with `shunter migrate convert -f -`, and put the result back.",
    effort=5,
    acceptable=True,
)
_HERE_DOCUMENT = late_pattern(r"<<-?\s*(['\"]?)(\w+)\1[^\n]*\n(.*?)\n\s*\2\b", re.S)
V1 = "kubeflow.org/v1"


class Embedded(NamedTuple):
    """A v1 job that is no document of its own."""

    job: SourceObject
    host: SourceObject
    """What holds it; without a kind when it is no Kubernetes object: values of a chart."""
    path: Path
    """Where in the host."""
    is_text: bool
    """Whether it stands in a string or in values, not in plain YAML of an object that can be written anew by itself."""

    @property
    def finding(self) -> Finding:
        """The finding about it: WITHIN_TEXT where it cannot be converted in its place, else WITHIN_OBJECT."""
        holder = self.host.title if self.host.kind else "a file of values"
        message = f"{self.job.title} is in {path_text(self.path)} of {holder}."
        title = self.host.title if self.host.kind else self.host.source
        return Finding(WITHIN_TEXT if self.is_text else WITHIN_OBJECT, title, self.host.place(self.path), self.path, message)


def found_in(host: SourceObject) -> list[Embedded]:
    """The v1 jobs within one object, of a file or of a cluster."""
    return list(_below(host.value, host.node, (), host))


def _below(value: Any, node: yaml.Node | None, path: Path, host: SourceObject) -> Iterator[Embedded]:
    if isinstance(value, str):
        if V1 in value:
            for inner in _jobs_in_text(value):
                yield Embedded(SourceObject(inner, host.source, at=host.place(path)), host, path, is_text=True)
        return
    if isinstance(value, dict):
        # Owners name their jobs themselves, so what stands there may have no metadata.
        job = SourceObject(
            {"metadata": {}, **value},
            host.source,
            node,
            host.first_line,
            host.text,
            is_embedded=True,
            host_namespace=host.namespace,
        )
        if path and _is_job(job):
            is_block = isinstance(node, yaml.MappingNode) and not node.flow_style
            yield Embedded(job, host, path, is_text=not is_block or not host.kind or _is_pointed_into(node, host))
            return
        nodes = fields(node)
        for key, inner in value.items():
            yield from _below(inner, nodes.get(key), (*path, key), host)
    elif isinstance(value, list):
        items = node.value if isinstance(node, yaml.SequenceNode) else [None] * len(value)
        for index, inner in enumerate(value):
            yield from _below(inner, items[index], (*path, index), host)


def _is_job(found: SourceObject) -> bool:
    """Whether it is a job, not only a reference to one, such as that of an autoscaler."""
    return is_convertible(found) and ("spec" in found.value or "name" not in found.value)


def _is_pointed_into(job: yaml.Node | None, host: SourceObject) -> bool:
    """Whether an alias elsewhere in the host stands for something within the job, which would go with it."""
    if job is None or host.node is None or "*" not in host.text:
        return False
    begin, end = job.start_mark.index, job.end_mark.index
    left, seen = [host.node], {id(job)}
    while left:
        node = left.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if begin <= node.start_mark.index < end:
            return True
        if isinstance(node, yaml.MappingNode):
            left += (part for pair in node.value for part in pair)
        elif isinstance(node, yaml.SequenceNode):
            left += node.value
    return False


def _jobs_in_text(text: str) -> Iterator[dict[str, Any]]:
    """The jobs in a YAML or JSON text; of any other, such as a script, those in its here-documents."""
    found = [job for value in _values(text) for job in _jobs_in(value)]
    if not found:
        found = [job for match in _HERE_DOCUMENT.finditer(text) for value in _values(match[3]) for job in _jobs_in(value)]
    yield from found


def _jobs_in(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        if _is_job(SourceObject(value, "")):
            yield value
            return
        for inner in value.values():
            yield from _jobs_in(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _jobs_in(inner)
    elif isinstance(value, str) and V1 in value:
        yield from _jobs_in_text(value)


def _values(text: str) -> list[Any]:
    """What YAML makes of the text; nothing of what is no YAML, and of a string that is only a string."""
    try:
        values = [msgspec.json.decode(text)]
    except (msgspec.DecodeError, RecursionError):
        try:
            refuse_depth(text)
            for node in yaml.compose_all(text, Loader) if "*" in text else ():
                refuse_expansion(node)
            values = list(yaml.load_all(text, Loader))
        except (yaml.YAMLError, ValueError):
            return []
    return [value for value in values if not isinstance(value, str)]
