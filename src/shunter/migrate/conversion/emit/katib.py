"""What an Experiment of Katib says about the pods and conditions of its trials, in terms of TrainJobs.

Katib watches the container and the pod that the template names, and takes a trial for done by a condition: with v1's words it
would wait for ever. Labels and conditions are those of Trainer v2.3 and JobSet 0.12.
"""

from __future__ import annotations

from typing import NamedTuple

import yaml

from shunter.api.batch import COMPLETION_INDEX
from shunter.api.jobset import REPLICATED_JOB
from shunter.api.trainer.runtime import NODE
from shunter.migrate.conversion.one_job import Conversion
from shunter.migrate.conversion.source import experiments
from shunter.migrate.conversion.source.embedded import Embedded
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.conversion.source.yaml_nodes import fields

_NULL = "tag:yaml.org,2002:null"


class Edit(NamedTuple):
    """A part of the document's text, and what stands there instead."""

    start: int
    end: int
    text: str


def edits(found: Embedded, conversion: Conversion) -> list[Edit]:
    """The changes beside the trial's job; none for what is no trial of an Experiment. What Katib filled in for jobs of v1 is
    said: of TrainJobs it knows no defaults."""
    host = found.host
    if not experiments.is_trial(found) or not isinstance(host.node, yaml.MappingNode):
        return []
    node = fields(fields(host.node).get("spec")).get("trialTemplate")
    template = fields(node)
    labels = {COMPLETION_INDEX: '"0"', REPLICATED_JOB: _first_group(conversion)}
    in_line = ", ".join(f"{name}: {value}" for name, value in labels.items())
    said = {"primaryContainerName": NODE, "primaryPodLabels": f"{{{in_line}}}", **experiments.CONDITIONS}
    changed = []
    for name, text in said.items():
        given = template.get(name)
        if given is None:
            assert node is not None, "the job stands in it"
            start = node.start_mark
            changed.append(Edit(start.index, start.index, f"{name}: {text}\n{' ' * start.column}"))
        elif isinstance(given, yaml.ScalarNode) and given.tag == _NULL:
            changed.append(_edit(given, text if given.value else f" {text}"))
        elif isinstance(given, yaml.MappingNode) and not given.flow_style:
            margin = "\n" + " " * given.start_mark.column
            block = margin.join(f"{name}: {value}" for name, value in labels.items())
            changed.append(Edit(given.start_mark.index, given.value[-1][1].end_mark.index, block))
        elif name in experiments.CONDITIONS and isinstance(given, yaml.ScalarNode):
            changed.append(_edit(given, experiments.in_terms_of_train_jobs(_written(host, given))))
        else:
            changed.append(_edit(given, text))
    return changed


def _first_group(conversion: Conversion) -> str:
    """The replicated job whose first pod has rank 0."""
    if conversion.runtime is None:
        return NODE
    jobs = conversion.runtime["spec"]["template"]["spec"]["replicatedJobs"]
    trains = (job for job in jobs if (job["template"].get("metadata") or {}).get("labels"))
    return str(next(trains, jobs[0])["name"])


def _edit(node: yaml.Node, text: str) -> Edit:
    return Edit(node.start_mark.index, node.end_mark.index, text)


def _written(host: SourceObject, node: yaml.ScalarNode) -> str:
    return host.text[node.start_mark.index : node.end_mark.index]
