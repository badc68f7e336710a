"""What an Experiment of Katib says about the pods and conditions of its trials, in terms of TrainJobs.

Katib watches the container and the pod that the template names, and takes a trial for done by a condition: with v1's words it
would wait for ever. Labels and conditions are those of Trainer v2.3 and JobSet 0.12.
"""

from __future__ import annotations

from typing import NamedTuple

import yaml

from shunter.api.trainer.runtime import NODE
from shunter.migrate.conversion import Conversion
from shunter.migrate.paths import Path
from shunter.migrate.source.objects import SourceObject

TRIAL_TEMPLATE: Path = ("spec", "trialTemplate")
INDEX_LABEL = "batch.kubernetes.io/job-completion-index"
GROUP_LABEL = "jobset.sigs.k8s.io/replicatedjob-name"


class Edit(NamedTuple):
    """A part of the document's text, and what stands there instead."""

    start: int
    end: int
    text: str


def edits(host: SourceObject, path: Path, conversion: Conversion) -> list[Edit]:
    """The changes beside the trial's job at `path`; none for what is no trial of an Experiment."""
    if host.kind != "Experiment" or path[:-1] != TRIAL_TEMPLATE or not isinstance(host.node, yaml.MappingNode):
        return []
    template = _fields(_fields(_fields(host.node).get("spec")).get("trialTemplate"))
    found = []
    container = template.get("primaryContainerName")
    if isinstance(container, yaml.ScalarNode):
        found.append(_edit(container, NODE))
    for name in ("successCondition", "failureCondition"):
        condition = template.get(name)
        if isinstance(condition, yaml.ScalarNode) and condition.style not in ("|", ">"):
            found.append(_edit(condition, _written(host, condition).replace("Succeeded", "Complete")))
    labels = template.get("primaryPodLabels")
    if isinstance(labels, yaml.MappingNode) and not labels.flow_style and labels.value:
        margin = "\n" + " " * labels.start_mark.column
        text = f'{INDEX_LABEL}: "0"{margin}{GROUP_LABEL}: {_first_group(conversion)}'
        found.append(Edit(labels.start_mark.index, labels.value[-1][1].end_mark.index, text))
    return found


def _first_group(conversion: Conversion) -> str:
    """The replicated job whose first pod has rank 0."""
    if conversion.runtime is None:
        return NODE
    jobs = conversion.runtime["spec"]["template"]["spec"]["replicatedJobs"]
    trains = (job for job in jobs if (job["template"].get("metadata") or {}).get("labels"))
    return str(next(trains, jobs[0])["name"])


def _edit(node: yaml.ScalarNode, text: str) -> Edit:
    return Edit(node.start_mark.index, node.end_mark.index, text)


def _written(host: SourceObject, node: yaml.ScalarNode) -> str:
    return host.text[node.start_mark.index : node.end_mark.index]


def _fields(node: yaml.Node | None) -> dict[str, yaml.Node]:
    if not isinstance(node, yaml.MappingNode):
        return {}
    return {key.value: value for key, value in node.value if isinstance(key, yaml.ScalarNode)}
